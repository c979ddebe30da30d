// 64-bit integers as pairs of words.

uvec2 u64_add(const in uvec2 a, const in uvec2 b)
{
    uint carry;
    uint low = uaddCarry(a.x, b.x, carry);
    return uvec2(low, a.y + b.y + carry);
}

uvec2 u64_sub(const in uvec2 a, const in uvec2 b)
{
    uint borrow;
    uint low = usubBorrow(a.x, b.x, borrow);
    return uvec2(low, a.y - b.y - borrow);
}

bool u64_eq(const in uvec2 a, const in uvec2 b)
{
    return ((a.x ^ b.x) | (a.y ^ b.y)) == 0u;
}

// The borrow of the low words decides between equal high words.
bool u64_lt(const in uvec2 a, const in uvec2 b)
{
    bool low = a.x < b.x;
    bool high = a.y < b.y;
    bool same = a.y == b.y;
    bool tie = same && low;
    return high || tie;
}

bool u64_le(const in uvec2 a, const in uvec2 b)
{
    bool low = a.x <= b.x;
    bool high = a.y < b.y;
    bool same = a.y == b.y;
    bool tie = same && low;
    return high || tie;
}

bool s64_lt(const in uvec2 a, const in uvec2 b)
{
    bool low = a.x < b.x;
    bool high = int(a.y) < int(b.y);
    bool same = a.y == b.y;
    bool tie = same && low;
    return high || tie;
}

bool s64_le(const in uvec2 a, const in uvec2 b)
{
    bool low = a.x <= b.x;
    bool high = int(a.y) < int(b.y);
    bool same = a.y == b.y;
    bool tie = same && low;
    return high || tie;
}

uvec2 s64_abs(const in uvec2 a)
{
    uint sign = uint(int(a.y) >> 31);
    return u64_sub(uvec2(a.x ^ sign, a.y ^ sign), uvec2(sign, sign));
}

// Shifts by 0..63 for the library's own use: the bits that cross the words move in two steps,
// because a shift by 32 means nothing.
uvec2 u64_shl_63(const in uvec2 a, const in uint n)
{
    uint m = n & 31u;
    uint low = a.x << m;
    uint high = (a.y << m) | ((a.x >> 1) >> (31u - m));
    bool words = n >= 32u;
    return uvec2(PICK(words, 0u, low), PICK(words, low, high));
}

uvec2 u64_shr_63(const in uvec2 a, const in uint n)
{
    uint m = n & 31u;
    uint high = a.y >> m;
    uint low = (a.x >> m) | ((a.y << 1) << (31u - m));
    bool words = n >= 32u;
    return uvec2(PICK(words, high, low), PICK(words, 0u, high));
}

// By 0..63, and whatever falls off leaves its mark in bit 0.
uvec2 u64_shr_sticky(const in uvec2 a, const in uint n)
{
    uint m = n & 31u;
    bool words = n >= 32u;
    uint lost = PICK(words, a.x, 0u);
    uint from_low = PICK(words, a.y, a.x);
    uint from_high = PICK(words, 0u, a.y);
    uint low = (from_low >> m) | ((from_high << 1) << (31u - m));
    lost |= (from_low << 1) << (31u - m);
    return uvec2(low | min(lost, 1u), from_high >> m);
}

// PTX shifts: 64 and more shift everything out.
uvec2 u64_shl(const in uvec2 a, const in uint n)
{
    return PICK2(n >= 64u, uvec2(0u, 0u), u64_shl_63(a, n));
}

uvec2 u64_shr(const in uvec2 a, const in uint n)
{
    return PICK2(n >= 64u, uvec2(0u, 0u), u64_shr_63(a, n));
}

uvec2 s64_shr(const in uvec2 a, const in uint amount)
{
    uint n = min(amount, 63u);
    uint m = n & 31u;
    uint sign = uint(int(a.y) >> 31);
    uint high = uint(int(a.y) >> m);
    uint low = (a.x >> m) | ((a.y << 1) << (31u - m));
    bool words = n >= 32u;
    return uvec2(PICK(words, high, low), PICK(words, sign, high));
}

uvec2 u32_mul_wide(const in uint a, const in uint b)
{
    uint high;
    uint low;
    umulExtended(a, b, high, low);
    return uvec2(low, high);
}

uvec2 u64_mul(const in uvec2 a, const in uvec2 b)
{
    uvec2 p = u32_mul_wide(a.x, b.x);
    return uvec2(p.x, p.y + a.x * b.y + a.y * b.x);
}

// 64 times 32 bits, the low 64.
uvec2 u64_mul_u32(const in uvec2 a, const in uint b)
{
    uvec2 p = u32_mul_wide(a.x, b);
    return uvec2(p.x, p.y + a.y * b);
}

// The whole product, by the schoolbook method; no partial sum can overflow because
// (2^32-1)^2 + 2 (2^32-1) = 2^64 - 1.
uvec4 u64_mul_wide(const in uvec2 a, const in uvec2 b)
{
    uvec2 p00 = u32_mul_wide(a.x, b.x);
    uvec2 p01 = u32_mul_wide(a.x, b.y);
    uvec2 p10 = u32_mul_wide(a.y, b.x);
    uvec2 p11 = u32_mul_wide(a.y, b.y);
    uvec2 middle = u64_add(p01, uvec2(p00.y, 0u));
    uvec2 second = u64_add(p10, uvec2(middle.x, 0u));
    uvec2 top = u64_add(u64_add(p11, uvec2(middle.y, 0u)), uvec2(second.y, 0u));
    return uvec4(p00.x, second.x, top.x, top.y);
}

uvec2 u64_mulhi(const in uvec2 a, const in uvec2 b)
{
    uvec4 p = u64_mul_wide(a, b);
    return uvec2(p.z, p.w);
}

// a negative operand counts 2^64 too much in the unsigned product.
uvec2 s64_mulhi(const in uvec2 a, const in uvec2 b)
{
    uint a_sign = uint(int(a.y) >> 31);
    uint b_sign = uint(int(b.y) >> 31);
    uvec2 p = u64_mulhi(a, b);
    p = u64_sub(p, uvec2(b.x & a_sign, b.y & a_sign));
    return u64_sub(p, uvec2(a.x & b_sign, a.y & b_sign));
}

// Index of the highest set bit; 0xffffffff for 0.
uint u64_bfind(const in uvec2 a)
{
    int high = findMSB(a.y);
    int low = findMSB(a.x);
    return uint(PICK(a.y != 0u, high + 32, low));
}

// Division. Each step takes some 19 bits of the quotient from a float estimate that is never too
// large, and the remainder stays exact.
//
// The estimate: both operands become floats within 2^-22 of their values, and the reciprocal is
// shrunk by 2^-20, more than its own error (Vulkan allows 2.5 ulp, 2^-21.6) and all roundings
// together. So a step removes all but 2^-19 of the remainder or, once that is small, leaves less
// than two divisors: four steps for 64 bits, and one comparison.
struct Division64
{
    uvec2 quotient;
    uvec2 remainder;
};

float u64_estimate(const in uvec2 a)
{
    float high = float(int(a.y >> 16)) * 65536.0f + float(int(a.y & 0xffffu));
    float middle = high * 65536.0f + float(int(a.x >> 16));
    return middle * 65536.0f + float(int(a.x & 0xffffu));
}

Division64 u64_divide_step(const in Division64 s, const in uvec2 d, const in float inverse)
{
    precise float q = u64_estimate(s.remainder) * inverse;
    precise float high = trunc(q * 2.3283064365386963e-10f);  // 2^-32
    precise float low = q - high * 4294967296.0f;
    uvec2 digits = uvec2(uint(low), uint(high));
    Division64 r;
    r.quotient = u64_add(s.quotient, digits);
    r.remainder = u64_sub(s.remainder, u64_mul(digits, d));
    return r;
}

// Division by zero gives all ones twice, as the hardware's sequences do.
Division64 u64_divide(const in uvec2 n, const in uvec2 d)
{
    uvec2 divisor = PICK2((d.x | d.y) == 0u, uvec2(1u, 0u), d);
    float inverse = 0.99999905f / u64_estimate(divisor);
    Division64 s;
    s.quotient = uvec2(0u, 0u);
    s.remainder = n;
    s = u64_divide_step(s, divisor, inverse);
    s = u64_divide_step(s, divisor, inverse);
    s = u64_divide_step(s, divisor, inverse);
    s = u64_divide_step(s, divisor, inverse);
    bool more = u64_le(divisor, s.remainder);
    bool zero = (d.x | d.y) == 0u;
    s.quotient = u64_add(s.quotient, uvec2(uint(more), 0u));
    s.remainder = u64_sub(s.remainder, PICK2(more, divisor, uvec2(0u, 0u)));
    s.quotient = PICK2(zero, uvec2(0xffffffffu, 0xffffffffu), s.quotient);
    s.remainder = PICK2(zero, uvec2(0xffffffffu, 0xffffffffu), s.remainder);
    return s;
}

uvec2 u64_div(const in uvec2 n, const in uvec2 d)
{
    return u64_divide(n, d).quotient;
}

uvec2 u64_rem(const in uvec2 n, const in uvec2 d)
{
    return u64_divide(n, d).remainder;
}

uvec2 u64_negate_if(const in uvec2 a, const in uint mask)
{
    return u64_sub(uvec2(a.x ^ mask, a.y ^ mask), uvec2(mask, mask));
}

uvec2 s64_div(const in uvec2 n, const in uvec2 d)
{
    uint sign = uint(int(n.y ^ d.y) >> 31);
    uvec2 q = u64_divide(s64_abs(n), s64_abs(d)).quotient;
    return PICK2((d.x | d.y) == 0u, uvec2(0xffffffffu, 0xffffffffu), u64_negate_if(q, sign));
}

// The remainder has the dividend's sign.
uvec2 s64_rem(const in uvec2 n, const in uvec2 d)
{
    uint sign = uint(int(n.y) >> 31);
    uvec2 r = u64_negate_if(u64_divide(s64_abs(n), s64_abs(d)).remainder, sign);
    return PICK2((d.x | d.y) == 0u, uvec2(0xffffffffu, 0xffffffffu), r);
}
