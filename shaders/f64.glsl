// Double precision in 32-bit integers. uvec2: low word x, high word y. NaN: an operand that is NaN
// comes back quiet, an invalid operation gives 0xfff8000000000000 (see f64_nan). Of two, the
// hardware prefers the first in sums and quotients, the second in products, and the addend, then
// the second, in fma.

#define F64_INF_HIGH 0x7ff00000u

uvec2 f64_abs(const in uvec2 a)
{
    return uvec2(a.x, a.y & 0x7fffffffu);
}

bool f64_is_nan(const in uvec2 a)
{
    return (a.y & 0x7fffffffu) + min(a.x, 1u) > F64_INF_HIGH;
}

bool f64_is_inf(const in uvec2 a)
{
    return (((a.y & 0x7fffffffu) ^ F64_INF_HIGH) | a.x) == 0u;
}

bool f64_is_zero(const in uvec2 a)
{
    return ((a.y & 0x7fffffffu) | a.x) == 0u;
}

// Comparison keys: high word signed, low word unsigned; -0 equals +0.
uvec2 f64_key(const in uvec2 a)
{
    return u64_negate_if(f64_abs(a), uint(int(a.y) >> 31));
}

bool f64_unord(const in uvec2 a, const in uvec2 b)
{
    bool a_nan = f64_is_nan(a);
    bool b_nan = f64_is_nan(b);
    return a_nan || b_nan;
}

bool f64_lt(const in uvec2 a, const in uvec2 b)
{
    bool ordered = !f64_unord(a, b);
    bool less = s64_lt(f64_key(a), f64_key(b));
    return ordered && less;
}

bool f64_le(const in uvec2 a, const in uvec2 b)
{
    bool ordered = !f64_unord(a, b);
    bool less = s64_le(f64_key(a), f64_key(b));
    return ordered && less;
}

bool f64_eq(const in uvec2 a, const in uvec2 b)
{
    bool ordered = !f64_unord(a, b);
    bool zeros = (((a.y | b.y) & 0x7fffffffu) | a.x | b.x) == 0u;
    bool same = u64_eq(a, b);
    bool equal = same || zeros;
    return ordered && equal;
}

// The result where an operand is NaN or the operation is invalid.
uvec2 f64_nan(const in uvec2 a, const in uvec2 b)
{
    bool a_nan = f64_is_nan(a);
    bool b_nan = f64_is_nan(b);
    uvec2 r = PICK2(b_nan, uvec2(b.x, b.y | 0x80000u), uvec2(0u, 0xfff80000u));
    return PICK2(a_nan, uvec2(a.x, a.y | 0x80000u), r);
}

// Order of bits with -0 below +0.
uvec2 f64_order(const in uvec2 a)
{
    uint s = uint(int(a.y) >> 31);
    return uvec2(a.x ^ s, a.y ^ (s >> 1));
}

// A NaN gives way to the other operand; of two the first comes back, quiet.
uvec2 f64_min(const in uvec2 a, const in uvec2 b)
{
    bool a_nan = f64_is_nan(a);
    bool b_nan = f64_is_nan(b);
    uvec2 r = PICK2(s64_lt(f64_order(a), f64_order(b)), a, b);
    r = PICK2(a_nan, b, PICK2(b_nan, a, r));
    return PICK2(a_nan && b_nan, uvec2(a.x, a.y | 0x80000u), r);
}

uvec2 f64_max(const in uvec2 a, const in uvec2 b)
{
    bool a_nan = f64_is_nan(a);
    bool b_nan = f64_is_nan(b);
    uvec2 r = PICK2(s64_lt(f64_order(a), f64_order(b)), b, a);
    r = PICK2(a_nan, b, PICK2(b_nan, a, r));
    return PICK2(a_nan && b_nan, uvec2(a.x, a.y | 0x80000u), r);
}

// Rounds and assembles: m has its leading one at bit 61 and every bit lost before in bit 0. Below
// the normal range it goes right first, by as much as it takes to lose everything but the mark.
uvec2 f64_pack(const in uint sign, const in int exponent, const in uvec2 significand,
               const in uint mode)
{
    uvec2 m = u64_shr_sticky(significand, uint(clamp(1 - exponent, 0, 63)));
    uvec2 kept = uvec2((m.x >> 9) | (m.y << 23), m.y >> 9);
    uint dropped = m.x << 23;
    uint threshold = round_threshold(mode, sign, kept.x);
    kept.y += uint(clamp(exponent - 1, 0, 2046)) << 20;
    uint up = uint(dropped > threshold);
    uvec2 r = u64_add(kept, uvec2(PICK(mode == ROUND_ODD, 0u, up), 0u));
    r.x = PICK(mode == ROUND_ODD, r.x | min(dropped, 1u), r.x);
    uvec2 largest = u64_sub(uvec2(0u, F64_INF_HIGH), uvec2(round_limit(mode, threshold), 0u));
    r = PICK2(r.y >= F64_INF_HIGH, largest, r);
    return uvec2(r.x, r.y | sign);
}

// Shifts the leading one to bit 61 first; `exponent` is that of bit 61.
uvec2 f64_normalise_pack(const in uint sign, const in int exponent, const in uvec2 m,
                         const in uint mode)
{
    uint up = (61u - u64_bfind(m)) & 63u;
    return f64_pack(sign, exponent - int(up), u64_shl_63(m, up), mode);
}

// The significand with its hidden bit; a denormal has none, and exponent 1.
uvec2 f64_significand(const in uvec2 a)
{
    uint e = (a.y >> 20) & 0x7ffu;
    return uvec2(a.x, (a.y & 0xfffffu) | (min(e, 1u) << 20));
}

uint f64_exponent(const in uvec2 a)
{
    return max((a.y >> 20) & 0x7ffu, 1u);
}

// Sum: 8 bits to spare below, room for the carry above.
uvec2 f64_add_mode(const in uvec2 a, const in uvec2 b, const in uint mode)
{
    bool swap = u64_lt(f64_abs(a), f64_abs(b));
    uvec2 big = PICK2(swap, b, a);
    uvec2 small = PICK2(swap, a, b);
    uint sign = big.y & SIGN_BIT;
    uint differ = uint(int(a.y ^ b.y) >> 31);
    uvec2 m_big = f64_significand(big);
    uvec2 m_small = f64_significand(small);
    m_big = uvec2(m_big.x << 8, (m_big.y << 8) | (m_big.x >> 24));
    m_small = uvec2(m_small.x << 8, (m_small.y << 8) | (m_small.x >> 24));
    uint e = f64_exponent(big);
    uvec2 aligned = u64_shr_sticky(m_small, min(e - f64_exponent(small), 63u));
    uvec2 sum = u64_add(m_big, u64_negate_if(aligned, differ));
    uvec2 r = f64_normalise_pack(sign, int(e) + 1, sum, mode);
    uint zero = PICK(differ == 0u, sign, round_zero(mode));
    r = PICK2((sum.x | sum.y) == 0u, uvec2(0u, zero), r);
    bool special = (big.y & F64_INF_HIGH) == F64_INF_HIGH;
    r = PICK2(special, uvec2(0u, sign | F64_INF_HIGH), r);
    bool invalid = f64_is_inf(small);
    invalid = invalid && differ != 0u;
    bool nan = f64_is_nan(big);
    nan = nan || invalid;
    return PICK2(nan, f64_nan(a, b), r);
}

// 128 bits to 64 with the leading one at bit 61 and a sticky bit: by words, then by bits. `top`
// receives the index of the leading one.
struct Normal128
{
    uvec2 m;
    int top;
};

Normal128 u128_normalise(const in uvec4 w)
{
    bool two = (w.w | w.z) == 0u;
    uvec4 v = PICK4(two, uvec4(0u, 0u, w.x, w.y), w);
    bool one = v.w == 0u;
    v = PICK4(one, uvec4(0u, v.x, v.y, v.z), v);
    uint up = uint(31 - findMSB(v.w)) & 31u;
    uint high = (v.w << up) | ((v.z >> 1) >> (31u - up));
    uint middle = (v.z << up) | ((v.y >> 1) >> (31u - up));
    uint lost = (v.y << up) | v.x;
    Normal128 r;
    r.m = uvec2((middle >> 2) | (high << 30), high >> 2);
    r.m.x |= min((middle & 3u) | lost, 1u);
    r.top = 127 - int(up) - PICK(two, 64, 0) - PICK(one, 32, 0);
    return r;
}

// Product: exact in 128 bits, normalised once, so that denormal operands need no care.
uvec2 f64_mul_mode(const in uvec2 a, const in uvec2 b, const in uint mode)
{
    uint sign = (a.y ^ b.y) & SIGN_BIT;
    uvec4 p = u64_mul_wide(f64_significand(a), f64_significand(b));
    Normal128 n = u128_normalise(p);
    // bit 104 of the product weighs 2^(ea + eb - 2 * 1023)
    int exponent = int(f64_exponent(a) + f64_exponent(b)) - 1023 + n.top - 104;
    uvec2 r = f64_pack(sign, exponent, n.m, mode);
    bool zero = (p.x | p.y | p.z | p.w) == 0u;
    bool a_special = (a.y & F64_INF_HIGH) == F64_INF_HIGH;
    bool b_special = (b.y & F64_INF_HIGH) == F64_INF_HIGH;
    r = PICK2(a_special || b_special, uvec2(0u, sign | F64_INF_HIGH), r);
    r = PICK2(zero, uvec2(0u, sign), r);
    bool a_zero = f64_is_zero(a);
    bool b_zero = f64_is_zero(b);
    bool zero_inf = a_zero && b_special;
    bool inf_zero = a_special && b_zero;
    bool nan = f64_unord(a, b);
    nan = nan || zero_inf;
    nan = nan || inf_zero;
    return PICK2(nan, f64_nan(b, a), r);
}

uvec4 u128_add(const in uvec4 a, const in uvec4 b)
{
    uint c0;
    uint c1;
    uint d1;
    uint c2;
    uint d2;
    uint r0 = uaddCarry(a.x, b.x, c0);
    uint r1 = uaddCarry(a.y, b.y, c1);
    r1 = uaddCarry(r1, c0, d1);
    uint r2 = uaddCarry(a.z, b.z, c2);
    r2 = uaddCarry(r2, c1 + d1, d2);
    return uvec4(r0, r1, r2, a.w + b.w + c2 + d2);
}

uvec4 u128_negate_if(const in uvec4 a, const in uint mask)
{
    return u128_add(uvec4(a.x ^ mask, a.y ^ mask, a.z ^ mask, a.w ^ mask),
                    uvec4(mask & 1u, 0u, 0u, 0u));
}

uvec4 u128_shr_sticky(const in uvec4 a, const in uint n)
{
    uvec4 v = PICK4((n & 64u) != 0u, uvec4(a.z, a.w, 0u, 0u), a);
    uint lost = PICK((n & 64u) != 0u, a.x | a.y, 0u);
    lost |= PICK((n & 32u) != 0u, v.x, 0u);
    v = PICK4((n & 32u) != 0u, uvec4(v.y, v.z, v.w, 0u), v);
    uint m = n & 31u;
    uint w = 31u - m;
    lost |= (v.x << 1) << w;
    return uvec4((v.x >> m) | ((v.y << 1) << w) | min(lost, 1u), (v.y >> m) | ((v.z << 1) << w),
                 (v.z >> m) | ((v.w << 1) << w), v.w >> m);
}

// Fused multiply-add in a window of 128 bits, as f32_fma_mode: the product (106 bits) at bit 18,
// the addend 54 above it at most.
uvec2 f64_fma_mode(const in uvec2 a, const in uvec2 b, const in uvec2 c, const in uint mode)
{
    uint p_sign = (a.y ^ b.y) & SIGN_BIT;
    uint c_sign = c.y & SIGN_BIT;
    uvec2 ma = f64_significand(a);
    uvec2 mb = f64_significand(b);
    uvec2 mc = f64_significand(c);
    bool a_zero = f64_is_zero(a);
    bool b_zero = f64_is_zero(b);
    bool p_zero = a_zero || b_zero;
    int ep = PICK(p_zero, -5000, int(f64_exponent(a) + f64_exponent(b)));
    int ec = int(f64_exponent(c));
    int d = ec - ep + 1021;
    uvec4 p = u64_mul_wide(uvec2(ma.x << 9, (ma.y << 9) | (ma.x >> 23)),
                           uvec2(mb.x << 9, (mb.y << 9) | (mb.x >> 23)));
    uvec4 q = uvec4(0u, 0u, mc.x << 8, (mc.y << 8) | (mc.x >> 24));
    bool swap = d > 0;
    uvec4 fixed_term = PICK4(swap, q, p);
    uvec4 moved_term = u128_shr_sticky(PICK4(swap, p, q), uint(min(abs(d), 127)));
    uint differ = uint(int(p_sign ^ c_sign) >> 31);
    uvec4 sum = u128_add(fixed_term, u128_negate_if(moved_term, differ));
    uint negative = uint(int(sum.w) >> 31);
    sum = u128_negate_if(sum, negative);
    uint sign = PICK(swap, c_sign, p_sign) ^ (negative & SIGN_BIT);
    Normal128 n = u128_normalise(sum);
    // bit 72 weighs 2^(max(ec, ep - 1021) - 1075)
    int exponent = max(ec, ep - 1021) + n.top - 124;
    uvec2 r = f64_pack(sign, exponent, n.m, mode);
    uint zero = PICK(differ == 0u, p_sign, round_zero(mode));
    r = PICK2((sum.x | sum.y | sum.z | sum.w) == 0u, uvec2(0u, zero), r);
    bool a_inf = f64_is_inf(a);
    bool b_inf = f64_is_inf(b);
    bool c_inf = f64_is_inf(c);
    bool p_inf = a_inf || b_inf;
    bool zero_inf = p_inf && p_zero;
    bool cancel = p_inf && c_inf;
    cancel = cancel && differ != 0u;
    bool ab_nan = f64_unord(a, b);
    bool c_nan = f64_is_nan(c);
    bool nan = ab_nan || c_nan;
    nan = nan || zero_inf;
    nan = nan || cancel;
    r = PICK2(c_inf, c, r);
    r = PICK2(p_inf, uvec2(0u, p_sign | F64_INF_HIGH), r);
    uvec2 first = PICK2(f64_is_nan(b), b, PICK2(c_nan, c, a));
    return PICK2(nan, f64_nan(first, first), r);
}

// A significand with its leading one at bit 52, and the exponent that goes with it.
struct Normal64
{
    uvec2 m;
    int exponent;
};

Normal64 f64_normal(const in uvec2 a)
{
    uvec2 m = f64_significand(a);
    uint up = (52u - u64_bfind(m)) & 63u;
    Normal64 r;
    r.m = u64_shl_63(m, up);
    r.exponent = int(f64_exponent(a)) - int(up);
    return r;
}

// One division digit of 20 bits: the estimate is the remainder's and the divisor's leading bits,
// in units of 2^29, as floats, less a bias that covers their errors, so that the next remainder is
// not negative.
uint f64_digit(const in uvec2 rest, const in float inverse, const in float bias)
{
    float f = float(int((rest.y << 3) | (rest.x >> 29)));
    return uint(int(max(f * inverse * 1048576.0f - bias, 0.0f)));
}

uvec2 f64_digit_rest(const in uvec2 rest, const in uint digit, const in uvec2 d)
{
    return u64_sub(uvec2(rest.x << 20, (rest.y << 20) | (rest.x >> 12)), u64_mul_u32(d, digit));
}

// Quotient of significands: three digits of 20 bits, remainders exact modulo 2^64. The estimates
// are off by less than 1.5, 3 and 5.3 (truncation 2^-23 and the reciprocal's 2.5 ulp, times digits
// of 21, 22 and 23 bits), so the remainders stay below 4, 7 and 12 divisors. The last step takes
// the nearest integer; its remainder's sign is the sticky bit.
uvec2 f64_div_mode(const in uvec2 a, const in uvec2 b, const in uint mode)
{
    uint sign = (a.y ^ b.y) & SIGN_BIT;
    Normal64 na = f64_normal(a);
    Normal64 nb = f64_normal(b);
    uvec2 d = nb.m;
    float inverse = 1.0f / float(int((d.y << 3) | (d.x >> 29)));
    uvec2 rest = na.m;
    uint q0 = f64_digit(rest, inverse, 1.5f);
    rest = f64_digit_rest(rest, q0, d);
    uint q1 = f64_digit(rest, inverse, 3.0f);
    rest = f64_digit_rest(rest, q1, d);
    uint q2 = f64_digit(rest, inverse, 5.5f);
    rest = f64_digit_rest(rest, q2, d);
    float last = float(int((rest.y << 3) | (rest.x >> 29)));
    uint q3 = uint(int(roundEven(last * inverse)));
    rest = u64_sub(rest, u64_mul_u32(d, q3));
    // q0 2^41 + q1 2^21 + 2 (q2 + q3) + sign(rest), q0 < 2^21
    uvec2 m = u64_add(uvec2(q1 << 21, (q0 << 9) + (q1 >> 11)), uvec2(2u * (q2 + q3), 0u));
    uint mark = uint(int(rest.y) >> 31) | min(rest.x | rest.y, 1u);
    m = u64_add(m, uvec2(mark, uint(int(mark) >> 31)));
    uint below = PICK(m.y < 0x20000000u, 1u, 0u);
    m = uvec2(m.x << below, (m.y << below) | ((m.x >> 31) & below));
    uvec2 r = f64_pack(sign, na.exponent - nb.exponent + 1023 - int(below), m, mode);
    bool a_inf = f64_is_inf(a);
    bool b_inf = f64_is_inf(b);
    bool a_zero = f64_is_zero(a);
    bool b_zero = f64_is_zero(b);
    bool to_inf = a_inf || b_zero;
    bool to_zero = b_inf || a_zero;
    r = PICK2(to_zero, uvec2(0u, sign), r);
    r = PICK2(to_inf, uvec2(0u, sign | F64_INF_HIGH), r);
    bool invalid = to_inf && to_zero;
    bool nan = f64_unord(a, b);
    nan = nan || invalid;
    return PICK2(nan, f64_nan(a, b), r);
}

// Square root of x in [1, 4), M = 2^52 x: digits of 22, 20 and 12 bits. s0 falls short by less
// than 8 (the float root within 5 ulp, truncation, a bias of 4); the estimate of s1 leaves out a
// second-order term of 7 and is off by 3 ulp, so with its bias of 12 it falls short by less than
// 24, and every remainder fits 64 bits. The last digit is rounded to nearest, and the sign of what
// remains is the sticky bit.
uvec2 f64_sqrt_mode(const in uvec2 a, const in uint mode)
{
    Normal64 n = f64_normal(a);
    int e = n.exponent - 1023;
    uint odd = uint(e) & 1u;
    uvec2 x = uvec2(n.m.x << odd, (n.m.y << odd) | ((n.m.x >> 31) & odd));
    float root = sqrt(float(int(x.y)) + float(int(x.x >> 8)) * 5.9604645e-8f);
    uint s0 = uint(int(root * 2048.0f - 4.0f));  // sqrt(x 2^-32) 2^11 = sqrt(M 2^-10)
    // rest = M - s0^2 2^10
    uvec2 square = u32_mul_wide(s0, s0);
    uvec2 rest = u64_sub(x, uvec2(square.x << 10, (square.y << 10) | (square.x >> 22)));
    float inverse = 1.0f / float(int(s0));
    float f = float(int(rest.y)) * 4294967296.0f + float(int(rest.x >> 1)) * 2.0f;
    uint s1 = uint(int(max(f * inverse * 512.0f - 12.0f, 0.0f)));
    // rest = rest 2^30 - s1 (s0 2^21 + s1)
    rest = u64_sub(uvec2(rest.x << 30, (rest.y << 30) | (rest.x >> 2)),
                   u64_mul_u32(u64_add(uvec2(s0 << 21, s0 >> 11), uvec2(s1, 0u)), s1));
    uvec2 s = u64_add(uvec2(s0 << 20, s0 >> 12), uvec2(s1, 0u));
    f = float(int(rest.y)) * 4294967296.0f + float(int(rest.x >> 1)) * 2.0f;
    // rest 2^24 / (s 2^13), s = s0 2^20
    uint s2 = uint(int(roundEven(f * inverse * 0.001953125f)));
    // rest = rest 2^24 - s2 (s 2^13 + s2)
    rest = u64_sub(
        uvec2(rest.x << 24, (rest.y << 24) | (rest.x >> 8)),
        u64_mul_u32(u64_add(uvec2(s.x << 13, (s.y << 13) | (s.x >> 19)), uvec2(s2, 0u)), s2));
    // m = 2 (s 2^12 + s2) + sign(rest), leading one at bit 54
    uint mark = uint(int(rest.y) >> 31) | min(rest.x | rest.y, 1u);
    uvec2 m = u64_add(uvec2(s.x << 13, (s.y << 13) | (s.x >> 19)), uvec2(2u * s2, 0u));
    m = u64_add(m, uvec2(mark, uint(int(mark) >> 31)));
    m = uvec2(m.x << 7, (m.y << 7) | (m.x >> 25));
    uvec2 r = f64_pack(0u, ((e - int(odd)) >> 1) + 1023, m, mode);
    bool zero = f64_is_zero(a);
    bool inf = f64_is_inf(a);
    r = PICK2(zero || inf, a, r);
    bool nan = f64_is_nan(a);
    bool negative = (a.y >> 31) != 0u && !zero;
    return PICK2(nan || negative, f64_nan(a, a), r);
}

// The routines by their PTX names.

ROUNDED_2(uvec2, f64_add, uvec2)
ROUNDED_2(uvec2, f64_mul, uvec2)
ROUNDED_3(uvec2, f64_fma, uvec2)
ROUNDED_2(uvec2, f64_div, uvec2)
ROUNDED_1(uvec2, f64_sqrt, uvec2)

uvec2 f64_rcp_rn(const in uvec2 a)
{
    return f64_div_mode(uvec2(0u, 0x3ff00000u), a, ROUND_RN);
}

uvec2 f64_rcp_rz(const in uvec2 a)
{
    return f64_div_mode(uvec2(0u, 0x3ff00000u), a, ROUND_RZ);
}

uvec2 f64_rcp_rm(const in uvec2 a)
{
    return f64_div_mode(uvec2(0u, 0x3ff00000u), a, ROUND_RM);
}

uvec2 f64_rcp_rp(const in uvec2 a)
{
    return f64_div_mode(uvec2(0u, 0x3ff00000u), a, ROUND_RP);
}
