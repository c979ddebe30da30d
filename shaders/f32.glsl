// Single precision in integers: right on every device, whatever its denormals, fma or division do.
// Any NaN result is 0x7fffffff, as on NVIDIA hardware.

// Comparison keys: two's complement order equals numeric order, and -0 equals +0.
int f32_key(const in uint a)
{
    int magnitude = int(a & F32_NAN);
    return PICK(int(a) < 0, -magnitude, magnitude);
}

bool f32_unord(const in uint a, const in uint b)
{
    return max(a & F32_NAN, b & F32_NAN) > F32_INF;
}

bool f32_lt(const in uint a, const in uint b)
{
    bool ordered = max(a & F32_NAN, b & F32_NAN) <= F32_INF;
    bool less = f32_key(a) < f32_key(b);
    return ordered && less;
}

bool f32_le(const in uint a, const in uint b)
{
    bool ordered = max(a & F32_NAN, b & F32_NAN) <= F32_INF;
    bool less = f32_key(a) <= f32_key(b);
    return ordered && less;
}

bool f32_eq(const in uint a, const in uint b)
{
    bool ordered = max(a & F32_NAN, b & F32_NAN) <= F32_INF;
    bool zeros = ((a | b) & F32_NAN) == 0u;
    bool same = a == b;
    bool equal = same || zeros;
    return ordered && equal;
}

// Order of bits with -0 below +0: negative values count downwards.
int f32_order(const in uint a)
{
    return int(PICK(int(a) < 0, a ^ F32_NAN, a));
}

// min and max: a NaN gives way to the other operand; two NaN give the canonical one. In the order
// of numbers, which wraps around, NaN of both signs lie between the infinities: what is added moves
// them to its end for a minimum, and to its beginning for a maximum.
uint f32_min(const in uint a, const in uint b)
{
    int x = int(uint(f32_order(a)) - 0x7fffffu);
    int y = int(uint(f32_order(b)) - 0x7fffffu);
    uint r = PICK(x < y, a, b);
    return PICK((r & F32_NAN) > F32_INF, F32_NAN, r);
}

uint f32_max(const in uint a, const in uint b)
{
    int x = int(uint(f32_order(a)) + 0x7fffffu);
    int y = int(uint(f32_order(b)) + 0x7fffffu);
    uint r = PICK(x < y, b, a);
    return PICK((r & F32_NAN) > F32_INF, F32_NAN, r);
}

uint f32_min_nan(const in uint a, const in uint b)
{
    return PICK(f32_unord(a, b), F32_NAN, PICK(f32_order(a) < f32_order(b), a, b));
}

uint f32_max_nan(const in uint a, const in uint b)
{
    return PICK(f32_unord(a, b), F32_NAN, PICK(f32_order(a) < f32_order(b), b, a));
}

// Rounds and assembles. m has its leading one at bit 29 and every bit lost before in bit 0;
// exponent is biased. Below the normal range the same shift goes further; from 31 on nothing but
// the threshold sees the value. A carry out of the significand moves into the exponent, which is
// what it should do.
uint f32_pack(const in uint sign, const in int exponent, const in uint m, const in uint mode)
{
    uint k = uint(clamp(7 - exponent, 6, 31));
    uint kept = (m >> k) + (uint(clamp(exponent - 1, 0, 300)) << 23);
    uint dropped = m << (32u - k);
    uint threshold = round_threshold(mode, sign, kept);
    uint up = uint(dropped > threshold);
    uint limit = F32_INF - round_limit(mode, threshold);
    uint r = min(kept + up, limit);
    return sign | PICK(mode == ROUND_ODD, min(kept, F32_INF - 1u) | min(dropped, 1u), r);
}

// Significand and exponent of |a| as bits whose exponent field goes below zero: a denormal's
// integer, converted to float (exact, 23 bits), is normalised by the conversion. Zero comes out as
// a power of two.
int f32_normal(const in uint magnitude)
{
    int denormal = int(floatBitsToUint(float(int(magnitude)))) - (149 << 23);
    return PICK(magnitude < 0x00800000u, denormal, int(magnitude));
}

// Sum: the smaller operand is aligned to the larger with 5 bits to spare and a sticky bit.
uint f32_add_mode(const in uint a, const in uint b, const in uint mode)
{
    uint ua = a & F32_NAN;
    uint ub = b & F32_NAN;
    uint big = max(ua, ub);
    uint small = min(ua, ub);
    uint sign = PICK(ua >= ub, a, b) & SIGN_BIT;
    uint differ = uint(int(a ^ b) >> 31);
    uint e_big = big >> 23;
    uint e_small = small >> 23;
    uint m_big = ((big & 0x7fffffu) << 5) | (min(e_big, 1u) << 28);
    uint m_small = ((small & 0x7fffffu) << 5) | (min(e_small, 1u) << 28);
    uint distance = min(max(e_big, 1u) - max(e_small, 1u), 31u);
    uint aligned = m_small >> distance;
    aligned |= uint((aligned << distance) != m_small);
    uint sum = m_big + ((aligned ^ differ) - differ);
    int top = findMSB(sum);
    uint m = sum << uint(29 - top);
    uint r = f32_pack(sign, int(max(e_big, 1u)) + top - 28, m, mode);
    r = PICK(sum == 0u, PICK(differ == 0u, sign, round_zero(mode)), r);
    bool invalid = small == F32_INF && differ != 0u;
    bool nan = big > F32_INF || invalid;
    r = PICK(big >= F32_INF, sign | F32_INF, r);
    return PICK(nan, F32_NAN, r);
}

// Product: only the smaller operand needs normalising, for two denormals give less than half of
// the smallest denormal whatever their leading zeros.
uint f32_mul_mode(const in uint a, const in uint b, const in uint mode)
{
    uint ua = a & F32_NAN;
    uint ub = b & F32_NAN;
    uint sign = (a ^ b) & SIGN_BIT;
    uint big = max(ua, ub);
    uint small = min(ua, ub);
    int normal = f32_normal(small);
    uint m_small = (uint(normal) << 7) | 0x40000000u;
    uint m_big = ((big & 0x7fffffu) | 0x800000u) << 7;
    uvec2 p = u32_mul_wide(m_small & 0x7fffffffu, m_big);
    uint carry = p.y >> 29;
    uint m = (p.y << (1u - carry)) | min(p.x, 1u);
    int exponent = (normal >> 23) + int(big >> 23) - 127 + int(carry);
    uint r = f32_pack(sign, exponent, m, mode);
    r = PICK(big >= F32_INF, sign | F32_INF, r);
    r = PICK(small == 0u, sign, r);
    bool invalid = big == F32_INF && small == 0u;
    bool nan = big > F32_INF || invalid;
    return PICK(nan, F32_NAN, r);
}

// Fused multiply-add in a window of 64 bits. The product (48 bits) stands at bit 11, the addend 26
// above it at bit 37 at most; whichever is too low for that is shifted right, leaving its mark in
// bit 0. When it is the product that is shifted, the addend is more than twice as large, so that
// no leading bits cancel; when it is the addend, its lost bits lie 11 below the product's last.
// Denormals need no normalising: they have leading zeros in the exact product, and the sum is
// normalised once.
uint f32_fma_mode(const in uint a, const in uint b, const in uint c, const in uint mode)
{
    uint ua = a & F32_NAN;
    uint ub = b & F32_NAN;
    uint uc = c & F32_NAN;
    uint p_sign = (a ^ b) & SIGN_BIT;
    uint c_sign = c & SIGN_BIT;
    uint ea = ua >> 23;
    uint eb = ub >> 23;
    uint ec = uc >> 23;
    uint ma = (ua & 0x7fffffu) | (min(ea, 1u) << 23);
    uint mb = (ub & 0x7fffffu) | (min(eb, 1u) << 23);
    uint mc = (uc & 0x7fffffu) | (min(ec, 1u) << 23);
    bool p_zero = min(ua, ub) == 0u;
    int ep = PICK(p_zero, -500, int(max(ea, 1u) + max(eb, 1u)));
    int ecn = int(max(ec, 1u));
    int d = ecn - ep + 124;  // the addend's excess over the place 26 above the product
    uvec2 p = u32_mul_wide(ma << 6, mb << 5);
    uvec2 q = uvec2(0u, mc << 5);
    bool swap = d > 0;
    uvec2 fixed_term = PICK2(swap, q, p);
    uvec2 moved_term = PICK2(swap, p, q);
    moved_term = u64_shr_sticky(moved_term, uint(min(abs(d), 63)));
    uint differ = uint(int(p_sign ^ c_sign) >> 31);
    uvec2 sum = u64_add(fixed_term, u64_negate_if(moved_term, differ));
    uint negative = uint(int(sum.y) >> 31);
    sum = u64_negate_if(sum, negative);
    uint sign = PICK(swap, c_sign, p_sign) ^ (negative & SIGN_BIT);
    uint top = u64_bfind(sum);
    uvec2 m = u64_shl_63(sum, (61u - top) & 63u);
    int exponent = max(ecn, ep - 124) + int(top) - 60;
    uint r = f32_pack(sign, exponent, m.y | min(m.x, 1u), mode);
    r = PICK((sum.x | sum.y) == 0u, PICK(differ == 0u, p_sign, round_zero(mode)), r);
    uint big = max(ua, ub);
    bool p_inf = big == F32_INF;
    bool c_inf = uc == F32_INF;
    bool opposite = differ != 0u;
    bool cancel = p_inf && c_inf;
    cancel = cancel && opposite;
    bool zero_inf = p_inf && p_zero;
    bool invalid = cancel || zero_inf;
    bool nan = max(big, uc) > F32_INF;
    nan = nan || invalid;
    r = PICK(c_inf, c, r);
    r = PICK(p_inf, p_sign | F32_INF, r);
    return PICK(nan, F32_NAN, r);
}

// Quotient: 25 bits from a float estimate (within 9 of the exact one: the reciprocal has 2.5 ulp,
// the product half of one), 4 more from the exact remainder, rounded to nearest so that the last
// remainder is less than a divisor; its sign is the sticky bit: 2q + sign(r) has the exact
// quotient's place between even numbers.
uint f32_div_mode(const in uint a, const in uint b, const in uint mode)
{
    uint ua = a & F32_NAN;
    uint ub = b & F32_NAN;
    uint sign = (a ^ b) & SIGN_BIT;
    int na = f32_normal(ua);
    int nb = f32_normal(ub);
    uint ma = (uint(na) & 0x7fffffu) | 0x800000u;
    uint mb = (uint(nb) & 0x7fffffu) | 0x800000u;
    float inverse = 1.0f / float(int(mb));
    uint q = uint(int(float(int(ma)) * inverse * 16777216.0f));
    int r = int((ma << 24) - q * mb);
    int digit = int(roundEven(float(r) * inverse * 16.0f));
    int rest = (r << 4) - digit * int(mb);
    q = (q << 5) + uint(2 * digit + clamp(rest, -1, 1));
    uint whole = q >> 29;
    uint m = q << (1u - whole);
    int exponent = (na >> 23) - (nb >> 23) + 126 + int(whole);
    uint packed = f32_pack(sign, exponent, m, mode);
    bool to_inf = ua == F32_INF || ub == 0u;
    bool to_zero = ub == F32_INF || ua == 0u;
    packed = PICK(to_zero, sign, packed);
    packed = PICK(to_inf, sign | F32_INF, packed);
    bool invalid = to_inf && to_zero;
    bool nan = max(ua, ub) > F32_INF;
    nan = nan || invalid;
    return PICK(nan, F32_NAN, packed);
}

// Square root of a significand in [1, 4): 25 bits from the float root (within 8), then one step of
// Newton on the exact remainder. The result is never denormal, never overflows and never lies on a
// tie.
uint f32_sqrt_mode(const in uint a, const in uint mode)
{
    uint ua = a & F32_NAN;
    int n = f32_normal(ua);
    int e = (n >> 23) - 127;
    uint odd = uint(e) & 1u;
    uint x = ((uint(n) & 0x7fffffu) | 0x800000u) << odd;
    uint s = uint(int(sqrt(float(int(x))) * 5792.6187f));  // 2^12.5
    int r = int((x << 25) - s * s);
    int step = int(roundEven(float(r) / float(int(2u * s))));
    int rest = r - step * (int(2u * s) + step);
    s = uint(int(s) + step);
    uint m = (2u * s + uint(clamp(rest, -1, 1))) << 4;
    uint packed = f32_pack(0u, ((e - int(odd)) >> 1) + 127, m, mode);
    packed = PICK(a == F32_INF, a, packed);
    packed = PICK(ua == 0u, a, packed);
    bool negative = a > SIGN_BIT;
    bool nan = ua > F32_INF || negative;
    return PICK(nan, F32_NAN, packed);
}

// The routines by their PTX names.

DIRECTED_2(uint, f32_add, uint)
DIRECTED_2(uint, f32_mul, uint)
DIRECTED_3(uint, f32_fma, uint)
DIRECTED_2(uint, f32_div, uint)
DIRECTED_1(uint, f32_sqrt, uint)

uint f32_rcp_rz(const in uint a)
{
    return f32_div_mode(0x3f800000u, a, ROUND_RZ);
}

uint f32_rcp_rm(const in uint a)
{
    return f32_div_mode(0x3f800000u, a, ROUND_RM);
}

uint f32_rcp_rp(const in uint a)
{
    return f32_div_mode(0x3f800000u, a, ROUND_RP);
}
