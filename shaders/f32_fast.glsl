// Round to nearest even in single precision out of the device's own float operations. What is
// relied on: add, sub and mul are exact for normal operands and results; a denormal may be flushed
// anywhere, so none ever occurs in between. Shifts are avoided: SwiftShader, for which these
// routines are made, does each of them lane by lane, at nine times the price of an addition.

// Denormals in: the integer converts exactly. In units of 2^-149, for magnitudes below 2^-101.
float f32_small_units(const in uint a, const in uint magnitude)
{
    uint denormal = floatBitsToUint(float(int(magnitude))) | (a & SIGN_BIT);
    return uintBitsToFloat(PICK(int(magnitude) < 0x00800000, denormal, a + 0x4a800000u));
}

// Sum. From 2^-101 on (of the larger operand) the device's own is right: a denormal operand is
// less than half an ulp, and a sum that cancels is a multiple of 2^-126. Below, both operands are
// scaled by 2^149 and the sum back, where it is an integer below 2^23 if denormal.
uint f32_add_rn(const in uint a, const in uint b)
{
    uint ua = a & F32_NAN;
    uint ub = b & F32_NAN;
    uint units = floatBitsToUint(f32_small_units(a, ua) + f32_small_units(b, ub));
    uint magnitude = units & F32_NAN;
    uint denormal = uint(int(uintBitsToFloat(magnitude)));
    uint small = PICK(int(magnitude) < 0x4b000000, denormal, magnitude - 0x4a800000u);
    small |= units & SIGN_BIT;
    uint large = floatBitsToUint(uintBitsToFloat(a) + uintBitsToFloat(b));
    uint r = PICK(max(int(ua), int(ub)) < 0x0d000000, small, large);
    return PICK(int(r & F32_NAN) > 0x7f800000, F32_NAN, r);
}

// The error of the product p = a b, exact while nothing underflows (Dekker; halves of 12 bits).
float f32_product_error(const in float a, const in float b, const in float p)
{
    precise float ah = uintBitsToFloat(floatBitsToUint(a) & 0xfffff000u);
    precise float bh = uintBitsToFloat(floatBitsToUint(b) & 0xfffff000u);
    precise float al = a - ah;
    precise float bl = b - bh;
    precise float hh = ah * bh;
    precise float hl = ah * bl;
    precise float lh = al * bh;
    precise float ll = al * bl;
    precise float e0 = hh - p;
    precise float e1 = e0 + hl;
    precise float e2 = e1 + lh;
    precise float e3 = e2 + ll;
    return e3;
}

// v + tail to the nearest integer, 0 <= v <= 2^23, tail below half an ulp of v: only where v lies
// on a tie, and what it is beyond its nearest integer is a half, does the tail matter. 2^-24 takes
// no other part of a v over the half: below a half parts are 2^-25 apart, and their sum with it
// rounds to the half, which is rounded down.
float f32_round_units(const in float v, const in float tail)
{
    precise float raised = v + 8388608.0f;
    precise float whole = raised - 8388608.0f;
    precise float part = v - whole;
    precise float beyond = part + sign(tail) * 5.960464477539063e-8f;
    precise float lifted = beyond + 12582912.0f;
    precise float correction = lifted - 12582912.0f;
    return whole + correction;
}

// Product of magnitudes. Where it may be denormal (the sum of the operands' bits, in effect of
// their exponents, is low) the smaller operand is scaled by 2^120, a denormal by way of its
// integer; the product then is below 2^123, and at least 2^-30 where it matters. A normal result
// is scaled back, a denormal one rounded in units of 2^-149 with the product's error at hand. Two
// denormals: 0, as it must be. Infinities and NaN do what they should by themselves.
uint f32_mul_rn(const in uint a, const in uint b)
{
    uint ua = a & F32_NAN;
    uint ub = b & F32_NAN;
    int big = max(int(ua), int(ub));
    int small = min(int(ua), int(ub));
    bool denormal = small < 0x00800000;
    bool low = int(uint(big) + uint(small)) >= 0;
    float x = PICK(denormal, float(small), uintBitsToFloat(uint(small)));
    x *= PICK(denormal, 1.862645149230957e-9f, PICK(low, 1.329227995784916e36f, 1.0f));
    float y = uintBitsToFloat(uint(big));
    precise float p = x * y;
    uint normal = floatBitsToUint(p * PICK(low, 7.52316384526264e-37f, 1.0f));
    float units = f32_round_units(p * 536870912.0f, f32_product_error(x, y, p));
    bool tiny = p < 0.015625f;
    uint r = PICK(low && tiny, uint(int(units)), normal);
    return PICK(int(r & F32_NAN) > 0x7f800000, F32_NAN, r | ((a ^ b) & SIGN_BIT));
}

// A sum, and what is left to add to it.
struct Tail
{
    float sum;
    float tail;
};

// x + y, and what the device's own sum loses of it (Knuth's TwoSum).
Tail f32_two_sum(const in float x, const in float y)
{
    precise float sum = x + y;
    precise float part = sum - x;
    precise float kept = sum - part;
    precise float lost_x = x - kept;
    precise float lost_y = y - part;
    precise float lost = lost_x + lost_y;
    Tail v;
    v.sum = sum;
    v.tail = lost;
    return v;
}

// p + e + z where e is less than an ulp of p: two TwoSums and an addition of what they leave
// that is rounded to odd, so that the last addition, the caller's, rounds as if once (Boldo
// and Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
Tail f32_sum_tail(const in float p, const in float e, const in float z)
{
    Tail t = f32_two_sum(z, e);
    Tail v = f32_two_sum(p, t.sum);
    Tail w = f32_two_sum(t.tail, v.tail);
    // The last sum's neighbour towards what it lost, where it came out even.
    uint bits = floatBitsToUint(w.sum);
    uint toward = PICK(int(floatBitsToUint(w.tail) ^ bits) < 0, 0xffffffffu, 1u);
    bool exact = w.tail == 0.0f;
    bool odd = (bits & 1u) != 0u;
    v.tail = uintBitsToFloat(PICK(exact || odd, bits, bits + toward));
    return v;
}

// Fused multiply-add of operands that are known (passes/analysis/float_ranges.hpp) to be finite and
// to need no scaling: the product and the addend are multiples of 2^-126 below 2^126. A sum that is
// zero has the sign of the plain one.
uint f32_fma_rn_bounded(const in uint a, const in uint b, const in uint c)
{
    precise float x = uintBitsToFloat(a);
    precise float y = uintBitsToFloat(b);
    precise float z = uintBitsToFloat(c);
    precise float p = x * y;
    precise float plain = p + z;
    Tail v = f32_sum_tail(p, f32_product_error(x, y, p), z);
    precise float sum = v.sum + v.tail;
    return floatBitsToUint(PICK(sum == 0.0f, plain, sum));
}

// Fused multiply-add: product and error (Dekker), then the sum of the three. Scaling keeps
// everything normal:
// - up: product below 8 and addend below 2^30. Everything by 2^96, denormals by way of their
//   integers; at most 2^126, and products that matter at least 2^-54, their errors 2^-102.
// - else everything by 2^-24, so that nothing overflows that should not; the smaller factor, when
//   below 1, by 2^64 and the larger by 2^-88, so that no half of them is denormal. Either the
//   product is at least 2, and an addend that would underflow only has to be there; or the addend
//   is at least 2^30 and the product, less than half an ulp of it, does not matter at all.
// A denormal result is rounded again in units of 2^-149, with the last rounding's error at hand.
uint f32_fma_rn(const in uint a, const in uint b, const in uint c)
{
    uint ua = a & F32_NAN;
    uint ub = b & F32_NAN;
    uint uc = c & F32_NAN;
    uint p_sign = (a ^ b) & SIGN_BIT;
    int big = max(int(ua), int(ub));
    int small = min(int(ua), int(ub));
    bool low = int(uint(big) + uint(small)) >= 0;
    bool addend_low = int(uc) < 0x4e800000;
    bool up = low && addend_low;
    bool zero = small == 0;
    bool below_one = small < 0x3f800000;
    bool x_denormal = small < 0x00800000;
    x_denormal = x_denormal && up;
    uint x_bits = PICK(zero, 0u, uint(max(small, 0x00800000)));
    float x = PICK(x_denormal, float(small), uintBitsToFloat(x_bits));
    x *= PICK(x_denormal, 1.1102230246251565e-16f,
              PICK(up, 7.922816251426434e28f, PICK(below_one, 1.8446744073709552e19f, 1.0f)));
    float y = uintBitsToFloat(uint(big) | p_sign);
    y *= PICK(up, 1.0f, PICK(below_one, 3.2311742677852644e-27f, 5.960464477539063e-8f));
    bool z_denormal = int(uc) < 0x00800000;
    z_denormal = z_denormal && up;
    float z0 = PICK(z_denormal, float(int(uc)), uintBitsToFloat(uc));
    z0 *= PICK(z_denormal, 1.1102230246251565e-16f,
               PICK(up, 7.922816251426434e28f, 5.960464477539063e-8f));
    uint z_bits = max(floatBitsToUint(z0), 0x0d800000u) | (c & SIGN_BIT);
    precise float z = uintBitsToFloat(PICK(uc == 0u, PICK(zero, c, p_sign), z_bits));

    precise float p = x * y;
    precise float e = f32_product_error(x, y, p);
    precise float s = p + z;
    Tail v = f32_sum_tail(p, e, z);
    // and the last rounding, with its error: the tail is no larger than the sum before it, unless
    // that is zero (Dekker)
    precise float sum = v.sum + v.tail;
    precise float s1 = sum - v.sum;
    precise float tail = v.tail - s1;

    uint r = floatBitsToUint(sum * PICK(up, 1.262177448353619e-29f, 16777216.0f));
    uint sum_sign = floatBitsToUint(sum) & SIGN_BIT;
    float outward = uintBitsToFloat(floatBitsToUint(tail) ^ sum_sign);
    float units = f32_round_units(abs(sum) * 9007199254740992.0f, outward);
    bool tiny = abs(sum) < 9.313225746154785e-10f;
    uint denormal = uint(int(units)) | sum_sign;
    r = PICK(tiny && up, denormal, r);
    // Below 2^-80 it is zero, or a product that vanishes, whose error means nothing: the plain sum
    // knows the sign. Infinities and NaN come from it too.
    uint s_bits = floatBitsToUint(s);
    bool nonzero = abs(sum) >= 8.271806125530277e-25f;
    r = PICK(nonzero, r, s_bits & SIGN_BIT);
    r = PICK(int(s_bits & F32_NAN) < 0x7f800000, r, s_bits);
    bool c_special = int(uc) >= 0x7f800000;
    bool p_finite = big < 0x7f800000;
    r = PICK(c_special && p_finite, c, r);
    return PICK(int(r & F32_NAN) > 0x7f800000, F32_NAN, r);
}

// Where the device's fma is fused but takes denormal operands for zero and gives zero for denormal
// results: its own, unless one of the three operands is denormal, or the result is not normal and
// the product not zero. The first comparison, which alone most calls need, finds zeros too.
uint f32_fma_rn_fused(const in uint a, const in uint b, const in uint c)
{
    float x = uintBitsToFloat(a);
    float y = uintBitsToFloat(b);
    float z = uintBitsToFloat(c);
    precise float own = fma(x, y, z);
    uint r = floatBitsToUint(own);
    float least = min(min(abs(x), abs(y)), min(abs(z), abs(own)));
    if ((floatBitsToUint(least) & F32_NAN) < 0x00800000u)
    {
        uint ua = a & F32_NAN;
        uint ub = b & F32_NAN;
        uint uc = c & F32_NAN;
        // a zero wraps to the largest number
        uint first = min(ua - 1u, min(ub - 1u, uc - 1u));
        bool lost = (r & F32_NAN) <= 0x00800000u && min(ua, ub) != 0u;
        if (first < 0x007fffffu || lost)
        {
            r = f32_fma_rn(a, b, c);
        }
    }
    return PICK(int(r & F32_NAN) > 0x7f800000, F32_NAN, r);
}

// One rounding's correction by an ulp: `rest` is what the result's inverse operation leaves,
// `step` what one ulp is worth there. Exact, for rest and step are multiples of the same unit
// within 24 bits of each other.
struct Corrected
{
    float value;
    float rest;
};

Corrected f32_correct(const in float value, const in float rest, const in float ulp,
                      const in float step)
{
    float way = PICK(rest + rest > step, 1.0f, PICK(rest + rest < -step, -1.0f, 0.0f));
    Corrected r;
    precise float moved = value + way * ulp;
    precise float left = rest - way * step;
    r.value = moved;
    r.rest = left;
    return r;
}

// Quotient of significands in [1, 2): the device's own, corrected twice by the exact remainder (so
// it may be off by 2.5 ulp, as Vulkan allows; quotients never lie on ties). The exponents'
// difference, as a float in units of a bit pattern's exponent field, is put back; a denormal
// result is rounded with the remainder at hand.
uint f32_div_rn(const in uint a, const in uint b)
{
    uint ua = a & F32_NAN;
    uint ub = b & F32_NAN;
    uint na = uint(f32_normal(ua));
    uint nb = uint(f32_normal(ub));
    precise float x = uintBitsToFloat((na & 0x7fffffu) | 0x3f800000u);
    precise float y = uintBitsToFloat((nb & 0x7fffffu) | 0x3f800000u);
    bool below = x < y;  // the quotient's binade is known, so its ulp is
    precise float q = max(x / y, PICK(below, 0.5f, 1.0f));
    precise float p = q * y;
    precise float near = x - p;
    precise float rest = near - f32_product_error(q, y, p);
    float ulp = PICK(below, 5.960464477539063e-8f, 1.1920928955078125e-7f);
    float step = y * ulp;
    Corrected c = f32_correct(q, rest, ulp, step);
    c = f32_correct(c.value, c.rest, ulp, step);

    float e = float(int(na & 0xff800000u)) - float(int(nb & 0xff800000u));
    int field = int(clamp(e, -1677721600.0f, 1073741824.0f));  // 2^-200 to 2^128
    int normal = min(int(floatBitsToUint(c.value)) + field, 0x7f800000);
    float scale = uintBitsToFloat(uint(field) + 0x8a000000u);  // 2^149
    int denormal = int(f32_round_units(c.value * scale, c.rest));
    uint r = uint(PICK(normal < 0x00800000, denormal, normal));
    bool to_inf = ua == F32_INF || ub == 0u;
    bool to_zero = ub == F32_INF || ua == 0u;
    bool over = e > 1073741824.0f || to_inf;
    r = PICK(over, F32_INF, r);
    bool invalid = to_inf && to_zero;
    r = PICK(to_zero, 0u, r);
    bool nan = max(int(ua), int(ub)) > 0x7f800000;
    nan = nan || invalid;
    return PICK(nan, F32_NAN, r | ((a ^ b) & SIGN_BIT));
}

uint f32_rcp_rn(const in uint a)
{
    return f32_div_rn(0x3f800000u, a);
}

// A quotient by fused fma, of operands that keep all steps normal, from an estimate of 1 / y within
// 3 ulp: a better reciprocal, and the quotient corrected twice by its remainder, the second time by
// an exact one. With y's significand in [1, 2) the last sum is off by half an ulp times the
// reciprocal's error, 2^-26 y of an ulp, and a quotient is at least 2^-24 / y of an ulp from a tie:
// right unless y is next to 2.
float f32_fused_quotient(const in float x, const in float y, const in float estimate)
{
    precise float error = fma(-y, estimate, 1.0f);
    precise float inverse = fma(estimate, error, estimate);
    precise float first = x * inverse;
    precise float rest = fma(-first, y, x);
    precise float second = fma(rest, inverse, first);
    precise float last = fma(-second, y, x);
    precise float quotient = fma(last, inverse, second);
    return quotient;
}

// Where the device's fma is fused but its quotients are estimates: other operands than those go the
// long way.
uint f32_div_rn_fused(const in uint a, const in uint b)
{
    uint ua = a & F32_NAN;
    uint ub = b & F32_NAN;
    bool zero = ua == 0u;
    bool fits = ua - 0x21800000u < 0x3c000000u;  // from 2^-60 to 2^60
    fits = fits || zero;
    bool divides = ub - 0x21800000u < 0x3c000000u;
    bool usual = (b & 0x7fffffu) < 0x7fff00u;
    divides = divides && usual;
    uint r = 0u;
    if (fits && divides)
    {
        float y = uintBitsToFloat(b);
        float quotient = f32_fused_quotient(uintBitsToFloat(a), y, 1.0f / y);
        r = floatBitsToUint(quotient) | ((a ^ b) & SIGN_BIT);  // of zeros
    }
    else
    {
        r = f32_div_rn(a, b);
    }
    return r;
}

uint f32_rcp_rn_fused(const in uint a)
{
    return f32_div_rn_fused(0x3f800000u, a);
}

// The quotient where the device's own is right for normal operands and quotients (the capability
// exact_div32). A dividend that is denormal, or so much smaller than the divisor that the quotient
// may be, is scaled by 2^100, a denormal divisor as well: every quotient that is no zero or
// infinity after it is then normal, and zeros, infinities and NaN come out by themselves. Only a
// denormal result is rounded twice. On a tie the first rounding's error decides, of which the sign
// is needed: the remainder of the significands as integers is no more than 2^24, so 32 bits of the
// products know it; and a quotient of significands less than 1 never rounds to 1, so their order
// says by what power of two the dividend's counts.
uint f32_div_rn_scaled(const in uint a, const in uint b)
{
    uint ua = a & F32_NAN;
    uint ub = b & F32_NAN;
    bool a_denormal = int(ua) < 0x00800000;
    bool b_denormal = int(ub) < 0x00800000;
    bool far = int(ua) - int(ub) < -0x3c000000;  // 120 binades, less one
    bool low = far || a_denormal;
    float normal_a = uintBitsToFloat(ua) * PICK(far, 1.2676506002282294e30f, 1.0f);
    float small_a = float(int(ua)) * 1.7763568394002505e-15f;  // 2^(100 - 149)
    float small_b = float(int(ub)) * 1.7763568394002505e-15f;
    precise float x = PICK(a_denormal, small_a, normal_a);
    precise float y = PICK(b_denormal, small_b, uintBitsToFloat(ub));
    precise float q = x / y;
    uint r = floatBitsToUint(q * PICK(low, PICK(b_denormal, 1.0f, 7.888609052210118e-31f),
                                      PICK(b_denormal, 1.2676506002282294e30f, 1.0f)));
    uint mx = floatBitsToUint(x) & 0x7fffffu;
    uint my = floatBitsToUint(y) & 0x7fffffu;
    uint mq = (floatBitsToUint(q) & 0x7fffffu) | 0x800000u;
    uint up = PICK(int(mx) < int(my), 0x1000000u, 0x800000u);
    int rest = int(mx * up - mq * (my | 0x800000u));
    float units = f32_round_units(q * 562949953421312.0f, float(rest));
    bool tiny = q < 1.4901161193847656e-8f;
    r = PICK(tiny && low, uint(int(units)), r);
    return PICK(int(r & F32_NAN) > 0x7f800000, F32_NAN, r | ((a ^ b) & SIGN_BIT));
}

uint f32_rcp_rn_scaled(const in uint a)
{
    return f32_div_rn_scaled(0x3f800000u, a);
}

// Square root, scaled by powers of four away from denormals and overflow, corrected as the
// quotient is: X - s^2 is a multiple of ulp^2, as is s ulp, so that "more than half an ulp above"
// is "rest > s ulp", and below "rest <= -s ulp", which the comparison with half an ulp^2 in
// between decides. Never denormal, never on a tie.
uint f32_sqrt_rn(const in uint a)
{
    uint ua = a & F32_NAN;
    bool denormal = int(ua) < 0x00800000;
    bool low = int(ua) < 0x30000000;
    precise float x = PICK(denormal, float(int(ua)), uintBitsToFloat(ua)) *
                      PICK(denormal, 2.0f, PICK(low, 1.8446744073709552e19f, 0.25f));
    precise float s = sqrt(x);
    precise float p = s * s;
    precise float near = x - p;
    precise float rest = near - f32_product_error(s, s, p);
    precise float ulp = uintBitsToFloat(floatBitsToUint(s) & F32_INF) * 1.1920928955078125e-7f;
    float step = s * ulp;
    float way = PICK(rest > step, ulp, PICK(rest <= -step, -ulp, 0.0f));
    precise float first = s + way;
    // the rest of the moved root: rest - way (2 s + way)
    precise float twice = way * (s + s);
    precise float square = way * way;
    precise float rest1 = rest - twice;
    precise float rest2 = rest1 - square;
    float step2 = first * ulp;
    way = PICK(rest2 > step2, ulp, PICK(rest2 <= -step2, -ulp, 0.0f));
    precise float second = first + way;
    uint r = floatBitsToUint(
        second * PICK(denormal, 2.6469779601696886e-23f, PICK(low, 2.3283064365386963e-10f, 2.0f)));
    r = PICK(ua == 0u, a, r);
    bool negative = a > SIGN_BIT;
    bool nan = int(ua) > 0x7f800000 || negative;
    return PICK(nan, F32_NAN, r);
}

// The root where the device's own is right for normal operands (the capability exact_sqrt32):
// denormals are scaled by 2^150. Roots are never denormal.
uint f32_sqrt_rn_scaled(const in uint a)
{
    uint ua = a & F32_NAN;
    bool denormal = int(ua) < 0x00800000;
    precise float x = PICK(denormal, float(int(ua)) * 2.0f, uintBitsToFloat(ua));
    uint r = floatBitsToUint(sqrt(x) * PICK(denormal, 2.6469779601696886e-23f, 1.0f));
    bool nan = a - 1u >= F32_INF;
    r = PICK(nan, F32_NAN, r);
    return PICK(ua == 0u, a, r);
}

// Where the device's fma is fused but its roots are estimates: Goldschmidt's step with the exact
// remainder, for operands that keep it normal, from 2^-101 on; the others, negative ones and NaN
// among them, go the long way. That the estimates of NVIDIA's hardware suffice is measured, for
// all operands.
uint f32_sqrt_rn_fused(const in uint a)
{
    uint r = 0u;
    if (a - 0x0d000000u < 0x72800000u)
    {
        precise float x = uintBitsToFloat(a);
        precise float inverse = inversesqrt(x);
        precise float root = x * inverse;
        precise float half_inverse = inverse * 0.5f;
        precise float rest = fma(-root, root, x);
        precise float better = fma(rest, half_inverse, root);
        r = floatBitsToUint(better);
    }
    else
    {
        r = f32_sqrt_rn(a);
    }
    return r;
}
