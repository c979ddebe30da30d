// Conversions between number formats (PTX cvt).

// What a NaN becomes as an integer; the manual leaves it to the hardware.
#define NAN_TO_32_FROM_F32 0u
#define NAN_TO_32_FROM_F64 0x80000000u
#define NAN_TO_64_HIGH 0x80000000u

// Between f32 and f64. A NaN keeps its sign and the upper bits of its payload, and becomes quiet.

uvec2 f64_from_f32(const in uint a)
{
    uint magnitude = a & F32_NAN;
    int n = f32_normal(magnitude);
    uvec2 r = uvec2(uint(n) << 29, uint((n >> 3) + (896 << 20)));
    r = PICK2(magnitude == 0u, uvec2(0u, 0u), r);
    r = PICK2(magnitude >= F32_INF, uvec2(0u, F64_INF_HIGH), r);
    r = PICK2(magnitude > F32_INF, uvec2(a << 29, (a << 1 >> 4) | 0x7ff80000u), r);
    return uvec2(r.x, r.y | (a & SIGN_BIT));
}

uint f32_from_f64_mode(const in uvec2 a, const in uint mode)
{
    uint sign = a.y & SIGN_BIT;
    uint high = a.y & 0x7fffffffu;
    uint m = 0x20000000u | ((high & 0xfffffu) << 9) | (a.x >> 23) | min(a.x << 9, 1u);
    uint r = f32_pack(sign, int(high >> 20) - 896, m, mode);
    r = PICK((high | a.x) == 0u, sign, r);
    r = PICK(high >= F64_INF_HIGH, sign | F32_INF, r);
    return PICK(f64_is_nan(a), sign | 0x7fc00000u | ((a.y & 0xfffffu) << 3) | (a.x >> 29), r);
}

// Integers to floating point

uint f32_from_magnitude(const in uint sign, const in uint a, const in uint mode)
{
    int top = findMSB(a);
    uint v = a << (uint(31 - top) & 31u);
    uint r = f32_pack(sign, 127 + top, (v >> 2) | min(v & 3u, 1u), mode);
    return PICK(a == 0u, 0u, r);
}

uint f32_from_u32_mode(const in uint a, const in uint mode)
{
    return f32_from_magnitude(0u, a, mode);
}

uint f32_from_s32_mode(const in uint a, const in uint mode)
{
    uint sign = uint(int(a) >> 31);
    return f32_from_magnitude(sign & SIGN_BIT, (a ^ sign) - sign, mode);
}

// Nearest even: both halves convert exactly, and their sum rounds once.
uint f32_from_u32_rn(const in uint a)
{
    return floatBitsToUint(float(int(a >> 16)) * 65536.0f + float(int(a & 0xffffu)));
}

uint f32_from_s32_rn(const in uint a)
{
    return floatBitsToUint(float(int(a)));
}

// With the leading one at bit 61 and a sticky bit.
uvec2 u64_normalise_61(const in uvec2 a, const in uint top)
{
    uvec2 v = u64_shl_63(a, (63u - top) & 63u);
    return uvec2((v.x >> 2) | (v.y << 30) | min(v.x & 3u, 1u), v.y >> 2);
}

uint f32_from_magnitude64(const in uint sign, const in uvec2 a, const in uint mode)
{
    uint top = u64_bfind(a);
    uvec2 m = u64_normalise_61(a, top);
    uint r = f32_pack(sign, 127 + int(top), m.y | min(m.x, 1u), mode);
    return PICK((a.x | a.y) == 0u, 0u, r);
}

uint f32_from_u64_mode(const in uvec2 a, const in uint mode)
{
    return f32_from_magnitude64(0u, a, mode);
}

uint f32_from_s64_mode(const in uvec2 a, const in uint mode)
{
    return f32_from_magnitude64(a.y & SIGN_BIT, s64_abs(a), mode);
}

uvec2 f64_from_magnitude32(const in uint sign, const in uint a)
{
    int top = findMSB(a);
    uint v = a << (uint(31 - top) & 31u);
    uvec2 r = uvec2(v << 21, sign | ((v >> 11) + (uint(1022 + top) << 20)));
    return PICK2(a == 0u, uvec2(0u, 0u), r);
}

uvec2 f64_from_u32(const in uint a)
{
    return f64_from_magnitude32(0u, a);
}

uvec2 f64_from_s32(const in uint a)
{
    uint sign = uint(int(a) >> 31);
    return f64_from_magnitude32(sign & SIGN_BIT, (a ^ sign) - sign);
}

uvec2 f64_from_magnitude64(const in uint sign, const in uvec2 a, const in uint mode)
{
    uint top = u64_bfind(a);
    uvec2 r = f64_pack(sign, 1023 + int(top), u64_normalise_61(a, top), mode);
    return PICK2((a.x | a.y) == 0u, uvec2(0u, 0u), r);
}

uvec2 f64_from_u64_mode(const in uvec2 a, const in uint mode)
{
    return f64_from_magnitude64(0u, a, mode);
}

uvec2 f64_from_s64_mode(const in uvec2 a, const in uint mode)
{
    return f64_from_magnitude64(a.y & SIGN_BIT, s64_abs(a), mode);
}

// f64 to integers: the magnitude rounded to an integer, modulo 2^64.
uvec2 f64_integer(const in uvec2 a, const in uint mode)
{
    uvec2 m = f64_significand(a);
    m = uvec2(m.x << 11, (m.y << 11) | (m.x >> 21));
    int n =
        1086 - int(f64_exponent(a));  // how far the leading one stands above bit 0, from 63 down
    uint shift = uint(clamp(n, 0, 63));
    uvec2 whole = u64_shr_63(m, shift);
    uvec2 part = u64_shl_63(uvec2(m.x << 1, (m.y << 1) | (m.x >> 31)), 63u - shift);
    part = PICK2(n >= 64, m, part);
    whole = PICK2(n >= 64, uvec2(0u, 0u), whole);
    uint dropped = part.y | min(part.x, 1u);
    dropped = PICK(n > 64, min(dropped, 1u), dropped);
    uint up = uint(dropped > round_threshold(mode, a.y & SIGN_BIT, whole.x));
    return u64_add(whole, uvec2(up, 0u));
}

uint f64_to_u32_mode(const in uvec2 a, const in uint mode)
{
    uvec2 i = f64_integer(a, mode);
    bool large = (a.y & 0x7fffffffu) >= 0x43f00000u;
    bool wide = i.y != 0u;
    bool over = wide || large;
    uint r = PICK(over, 0xffffffffu, i.x);
    r = PICK(int(a.y) < 0, 0u, r);
    return PICK(f64_is_nan(a), NAN_TO_32_FROM_F64, r);
}

uint f64_to_s32_mode(const in uvec2 a, const in uint mode)
{
    uvec2 i = f64_integer(a, mode);
    uint sign = a.y >> 31;
    uint largest = 0x7fffffffu + sign;
    bool large = (a.y & 0x7fffffffu) >= 0x43f00000u;
    bool wide = i.y != 0u;
    bool beyond = i.x > largest;
    bool over = wide || beyond;
    over = over || large;
    uint r = PICK(over, largest, i.x);
    r = PICK(sign != 0u, 0u - r, r);
    return PICK(f64_is_nan(a), NAN_TO_32_FROM_F64, r);
}

uvec2 f64_to_u64_mode(const in uvec2 a, const in uint mode)
{
    bool over = (a.y & 0x7fffffffu) >= 0x43f00000u;
    uvec2 r = PICK2(over, uvec2(0xffffffffu, 0xffffffffu), f64_integer(a, mode));
    r = PICK2(int(a.y) < 0, uvec2(0u, 0u), r);
    return PICK2(f64_is_nan(a), uvec2(0u, NAN_TO_64_HIGH), r);
}

uvec2 f64_to_s64_mode(const in uvec2 a, const in uint mode)
{
    bool over = (a.y & 0x7fffffffu) >= 0x43e00000u;
    uint sign = uint(int(a.y) >> 31);
    uvec2 r =
        PICK2(over, uvec2(~sign, 0x7fffffffu - sign), u64_negate_if(f64_integer(a, mode), sign));
    return PICK2(f64_is_nan(a), uvec2(0u, NAN_TO_64_HIGH), r);
}

// f32 to 32-bit integers. trunc and roundEven are exact on every device, denormals included; the
// directed modes step away from zero where truncation changed anything, which compares bits.
int f32_integer(const in uint a, const in uint mode)
{
    float x = uintBitsToFloat(PICK((a & F32_NAN) >= 0x4f000000u, 0u, a));
    float t = trunc(x);
    uint inexact = uint(floatBitsToUint(t) != floatBitsToUint(x));
    uint negative = a >> 31;
    int step = PICK(mode == ROUND_RP, int(inexact & ~negative), 0);
    step = PICK(mode == ROUND_RM, -int(inexact & negative), step);
    return int(PICK(mode == ROUND_RN, roundEven(x), PICK(mode == ROUND_RZ, x, t))) + step;
}

uint f32_to_s32_mode(const in uint a, const in uint mode)
{
    uint r =
        PICK((a & F32_NAN) >= 0x4f000000u, 0x7fffffffu + (a >> 31), uint(f32_integer(a, mode)));
    return PICK((a & F32_NAN) > F32_INF, NAN_TO_32_FROM_F32, r);
}

// Nothing below zero is rounded to more.
uint f32_to_u32_mode(const in uint a, const in uint mode)
{
    uint positive = uint(max(int(a), 0));
    float x = uintBitsToFloat(min(positive, 0x4f7fffffu));
    uint inexact = uint(floatBitsToUint(trunc(x)) != floatBitsToUint(x));
    uint r = uint(PICK(mode == ROUND_RN, roundEven(x), x)) + PICK(mode == ROUND_RP, inexact, 0u);
    r = PICK(positive >= 0x4f800000u, 0xffffffffu, r);
    return PICK(positive > F32_INF, NAN_TO_32_FROM_F32, r);
}

// Numbers below 2^31 in magnitude, to nearest or toward zero.
uint f32_to_s32_bounded(const in uint a, const in uint mode)
{
    float x = uintBitsToFloat(a);
    return uint(int(PICK(mode == ROUND_RN, roundEven(x), x)));
}

uint f32_to_u32_bounded(const in uint a, const in uint mode)
{
    return uint(max(int(f32_to_s32_bounded(a, mode)), 0));
}

// f32 to 64-bit integers goes through f64, which holds every f32.
uvec2 f32_to_u64_mode(const in uint a, const in uint mode)
{
    return f64_to_u64_mode(f64_from_f32(a), mode);
}

uvec2 f32_to_s64_mode(const in uint a, const in uint mode)
{
    return f64_to_s64_mode(f64_from_f32(a), mode);
}

// To an integral value of the same format. The sign stays, of zeros too, which is all that it could
// lose: a bit set is enough, and no merge of bits, which drivers get wrong
// (tests/shaders/merges_test.cpp).
uint f32_round_mode(const in uint a, const in uint mode)
{
    float x = uintBitsToFloat(a);
    float t = trunc(x);
    bool inexact = floatBitsToUint(t) != a;
    bool outward = PICK(mode == ROUND_RP, int(a) >= 0, int(a) < 0);
    bool directed = mode == ROUND_RM || mode == ROUND_RP;
    bool step = inexact && outward;
    step = step && directed;
    float away = t + uintBitsToFloat(0x3f800000u | (a & SIGN_BIT));
    float r = PICK(step, away, PICK(mode == ROUND_RN, roundEven(x), t));
    uint bits = floatBitsToUint(r) | (a & SIGN_BIT);
    bits = PICK((a & F32_NAN) >= 0x4b000000u, a, bits);
    return PICK((a & F32_NAN) > F32_INF, F32_NAN, bits);
}

// The magnitude's bits are rounded at the units' place as one integer: a carry moves into the
// exponent. Below 1 the result is 0 or 1.
uvec2 f64_round_mode(const in uvec2 a, const in uint mode)
{
    uint sign = a.y & SIGN_BIT;
    uvec2 magnitude = f64_abs(a);
    uint e = magnitude.y >> 20;
    uint n = uint(clamp(1075 - int(e), 0, 52));
    uvec2 kept = u64_shr_63(magnitude, n);
    uvec2 part =
        u64_shl_63(uvec2(magnitude.x << 1, (magnitude.y << 1) | (magnitude.x >> 31)), 63u - n);
    part = PICK2(n == 0u, uvec2(0u, 0u), part);
    uint dropped = part.y | min(part.x, 1u);
    uint fraction = magnitude.x | (magnitude.y & 0xfffffu);
    uint half_up = PICK(e == 1022u, 0x80000000u | min(fraction, 1u), min(e | fraction, 1u));
    bool below = e < 1023u;
    kept = PICK2(below, uvec2(0u, 0u), kept);
    dropped = PICK(below, half_up, dropped);
    // units' parity: for 1 <= |a| < 2 it is the exponent's last bit, 1023, and set
    bool up = dropped > round_threshold(mode, sign, kept.x);
    uvec2 r = u64_shl_63(u64_add(kept, uvec2(uint(up), 0u)), n);
    r = PICK2(below, uvec2(0u, PICK(up, 0x3ff00000u, 0u)), r);
    r.y |= sign;
    r = PICK2(n == 0u, a, r);
    return PICK2(f64_is_nan(a), f64_nan(a, a), r);
}

// Half precision

uint f16_from_f32_mode(const in uint a, const in uint mode)
{
    uint sign = a & SIGN_BIT;
    uint magnitude = a & F32_NAN;
    int exponent = int(magnitude >> 23) - 112;
    uint m = ((magnitude & 0x7fffffu) << 6) | (min(magnitude, 1u) << 29);
    uint k = uint(clamp(20 - exponent, 19, 31));
    uint kept = (m >> k) + (uint(max(exponent - 1, 0)) << 10);
    uint dropped = m << (32u - k);
    uint threshold = round_threshold(mode, sign, kept);
    uint r = min(kept + uint(dropped > threshold), 0x7c00u - round_limit(mode, threshold));
    r = PICK(magnitude == F32_INF, 0x7c00u, r);
    r |= sign >> 16;
    return PICK(magnitude > F32_INF, 0x7fffu, r);
}

// Nearest even and toward zero without shifts by variable amounts. Denormals, in units of 2^-24:
// adding 1/2 rounds to them; conversion to an integer truncates.
uint f16_from_f32_rn(const in uint a)
{
    uint magnitude = a & F32_NAN;
    uint odd = PICK((magnitude & 0x2000u) != 0u, 1u, 0u);
    uint normal = min((magnitude + odd - 0x37fff001u) >> 13, 0x7c00u);
    precise float raised = uintBitsToFloat(magnitude) + 0.5f;
    uint denormal = floatBitsToUint(raised) - 0x3f000000u;
    uint r = PICK(int(magnitude) < 0x38800000, denormal, normal);
    r |= PICK(int(a) < 0, 0x8000u, 0u);
    return PICK(int(magnitude) > 0x7f800000, 0x7fffu, r);
}

uint f16_from_f32_rz(const in uint a)
{
    uint magnitude = a & F32_NAN;
    uint normal = min((magnitude - 0x38000000u) >> 13, 0x7bffu);
    uint denormal = uint(int(uintBitsToFloat(magnitude) * 16777216.0f));
    uint r = PICK(int(magnitude) < 0x38800000, denormal, normal);
    r = PICK(magnitude == F32_INF, 0x7c00u, r) | PICK(int(a) < 0, 0x8000u, 0u);
    return PICK(int(magnitude) > 0x7f800000, 0x7fffu, r);
}

// A denormal's integer converts exactly, scaled by 2^-24.
uint f32_from_f16(const in uint a)
{
    uint magnitude = a & 0x7fffu;
    uint denormal = floatBitsToUint(float(int(magnitude)) * 5.9604644775390625e-8f);
    uint r = PICK(magnitude < 0x400u, denormal, magnitude * 8192u + 0x38000000u);
    r = PICK(magnitude == 0x7c00u, F32_INF, r);
    r |= (a & 0x8000u) * 65536u;
    return PICK(magnitude > 0x7c00u, F32_NAN, r);
}

// Through f32 rounded to odd: 13 bits more than f16 has.
uint f16_from_f64_mode(const in uvec2 a, const in uint mode)
{
    uint r = f16_from_f32_mode(f32_from_f64_mode(a, ROUND_ODD), mode);
    return PICK(f64_is_nan(a), ((a.y >> 16) & 0x8000u) | 0x7e00u | ((a.y >> 10) & 0x3ffu), r);
}

uvec2 f64_from_f16(const in uint a)
{
    bool nan = (a & 0x7fffu) > 0x7c00u;
    uvec2 quiet = uvec2(0u, ((a & 0x8000u) << 16) | 0x7ff80000u | ((a & 0x3ffu) << 10));
    return PICK2(nan, quiet, f64_from_f32(f32_from_f16(a)));
}

uint bf16_from_f32_mode(const in uint a, const in uint mode)
{
    uint magnitude = a & F32_NAN;
    uint kept = magnitude >> 16;
    uint threshold = round_threshold(mode, a & SIGN_BIT, kept);
    uint r = kept + uint((magnitude << 16) > threshold);
    uint limit = 0x7f80u - round_limit(mode, threshold);
    r = PICK(magnitude >= F32_INF, kept, min(r, limit));
    r |= (a & SIGN_BIT) >> 16;
    return PICK(magnitude > F32_INF, 0x7fffu, r);
}

// A carry out of the digits goes into the exponent, up to infinity.
uint bf16_from_f32_rn(const in uint a)
{
    uint r = a + 0x7fffu + ((a >> 16) & 1u);
    return PICK((a & F32_NAN) > F32_INF, F32_NAN, r) >> 16;
}

uint f32_from_bf16(const in uint a)
{
    return a << 16;
}

uint bf16_from_f64_mode(const in uvec2 a, const in uint mode)
{
    uint r = bf16_from_f32_mode(f32_from_f64_mode(a, ROUND_ODD), mode);
    return PICK(f64_is_nan(a), ((a.y >> 16) & 0x8000u) | 0x7fc0u | ((a.y >> 13) & 0x7fu), r);
}

uvec2 f64_from_bf16(const in uint a)
{
    return f64_from_f32(f32_from_bf16(a));
}

// tf32: f32 with 13 low bits zero. rna takes ties away from zero.
uint tf32_from_f32_rna(const in uint a)
{
    uint r = (a + 0x1000u) & 0xffffe000u;
    return PICK((a & F32_NAN) > F32_INF, a & 0xffffe000u, r);
}

uint tf32_from_f32_rn(const in uint a)
{
    uint r = (a + 0xfffu + ((a >> 13) & 1u)) & 0xffffe000u;
    return PICK((a & F32_NAN) > F32_INF, 0x7fffe000u, r);
}

uint tf32_from_f32_rz(const in uint a)
{
    return PICK((a & F32_NAN) > F32_INF, 0x7fffe000u, a & 0xffffe000u);
}

// The routines by their PTX names.

ROUNDED_1(uint, f32_from_f64, uvec2)
DIRECTED_1(uint, f32_from_u32, uint)
INTEGRAL_1(uint, f32_to_u32, uint)
INTEGRAL_1(uint, f64_to_u32, uvec2)
DIRECTED_1(uint, f32_from_s32, uint)
INTEGRAL_1(uint, f32_to_s32, uint)
INTEGRAL_1(uint, f64_to_s32, uvec2)
ROUNDED_1(uint, f32_from_u64, uvec2)
ROUNDED_1(uvec2, f64_from_u64, uvec2)
INTEGRAL_1(uvec2, f32_to_u64, uint)
INTEGRAL_1(uvec2, f64_to_u64, uvec2)
ROUNDED_1(uint, f32_from_s64, uvec2)
ROUNDED_1(uvec2, f64_from_s64, uvec2)
INTEGRAL_1(uvec2, f32_to_s64, uint)
INTEGRAL_1(uvec2, f64_to_s64, uvec2)
INTEGRAL_1(uint, f32_round, uint)
INTEGRAL_1(uvec2, f64_round, uvec2)

uint f16_from_f32_rm(const in uint a)
{
    return f16_from_f32_mode(a, ROUND_RM);
}

uint f16_from_f32_rp(const in uint a)
{
    return f16_from_f32_mode(a, ROUND_RP);
}

ROUNDED_1(uint, f16_from_f64, uvec2)
DIRECTED_1(uint, bf16_from_f32, uint)
ROUNDED_1(uint, bf16_from_f64, uvec2)
