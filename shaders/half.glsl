// Arithmetic of the 16-bit formats, and conversions to and from the 8-bit ones. Sums, products,
// minima and comparisons of halves go through single precision, whose 24 bits are more than twice
// their 11 and 8 plus two, so that rounding twice does no harm; only fma needs care.

// The product of two f16 is exact in f32 and the sum's error is exact too (Knuth's TwoSum; nothing
// here is denormal or overflows f32). Where there is an error, the sum is made odd on the error's
// side, so that it can be rounded again.
uint f16_fma_rn(const in uint a, const in uint b, const in uint c)
{
    float x = uintBitsToFloat(f32_from_f16(a));
    float y = uintBitsToFloat(f32_from_f16(b));
    float z = uintBitsToFloat(f32_from_f16(c));
    precise float p = x * y;
    precise float s = p + z;
    precise float zz = s - p;
    precise float pp = s - zz;
    precise float dz = z - zz;
    precise float dp = p - pp;
    precise float error = dp + dz;
    uint bits = floatBitsToUint(s);
    uint e = floatBitsToUint(error);
    // an even sum moves by one: up in magnitude when the error has its sign, else down
    uint magnitude = e & F32_NAN;
    uint odd = PICK((bits & 1u) != 0u, bits, bits + 1u - PICK(int(e ^ bits) < 0, 2u, 0u));
    bool inexact = magnitude - 1u < F32_INF - 1u;
    return f16_from_f32_rn(PICK(inexact, odd, bits));
}

uint bf16_fma_rn(const in uint a, const in uint b, const in uint c)
{
    uint r = f32_fma_mode(a << 16, b << 16, c << 16, ROUND_ODD);
    return bf16_from_f32_mode(r, ROUND_RN);
}

// 8-bit floats (OCP FP8). f16 holds both formats' values.

uint f16_from_e5m2(const in uint a)
{
    uint h = (a & 0xffu) << 8;
    return PICK((h & 0x7fffu) > 0x7c00u, 0x7fffu, h);
}

// Exponent bias 7 against 15. No infinity: only 0x7f is NaN.
uint f16_from_e4m3(const in uint a)
{
    uint magnitude = a & 0x7fu;
    uint denormal = floatBitsToUint(float(int(magnitude)));  // m 2^-9, m < 8
    denormal = ((denormal >> 13) & 0x3ffu) | (((denormal >> 23) - 127u + 6u) << 10);
    uint r = PICK(magnitude < 8u, denormal, (magnitude << 7) + 0x2000u);
    r = PICK(magnitude == 0u, 0u, r);
    r |= (a & 0x80u) << 8;
    return PICK(magnitude == 0x7fu, 0x7fffu, r);
}

// Nearest even, saturating to the largest finite value (.satfinite), infinities too.
uint e4m3_from_f32_rn(const in uint a)
{
    uint magnitude = a & F32_NAN;
    int exponent = int(magnitude >> 23) - 120;
    uint m = ((magnitude & 0x7fffffu) << 6) | (min(magnitude, 1u) << 29);
    uint k = uint(clamp(27 - exponent, 26, 31));
    uint kept = (m >> k) + (uint(max(exponent - 1, 0)) << 3);
    uint up = uint((m << (32u - k)) > round_threshold(ROUND_RN, 0u, kept));
    uint r = min(kept + up, 0x7eu) | ((a >> 24) & 0x80u);
    return PICK(magnitude > F32_INF, 0x7fu, r);
}

uint e5m2_from_f32_rn(const in uint a)
{
    uint magnitude = a & F32_NAN;
    int exponent = int(magnitude >> 23) - 112;
    uint m = ((magnitude & 0x7fffffu) << 6) | (min(magnitude, 1u) << 29);
    uint k = uint(clamp(28 - exponent, 27, 31));
    uint kept = (m >> k) + (uint(max(exponent - 1, 0)) << 2);
    uint up = uint((m << (32u - k)) > round_threshold(ROUND_RN, 0u, kept));
    uint r = min(kept + up, 0x7bu) | ((a >> 24) & 0x80u);
    return PICK(magnitude > F32_INF, 0x7fu, r);
}

// Integers to halves: f32 rounded to odd holds enough bits.
#define THROUGH_F32(narrow, integer, A) \
    uint narrow##_from_##integer##_rn(const in A a) \
    { return narrow##_from_f32_mode(f32_from_##integer##_mode(a, ROUND_ODD), ROUND_RN); } \
    uint narrow##_from_##integer##_rz(const in A a) \
    { return narrow##_from_f32_mode(f32_from_##integer##_mode(a, ROUND_ODD), ROUND_RZ); } \
    uint narrow##_from_##integer##_rm(const in A a) \
    { return narrow##_from_f32_mode(f32_from_##integer##_mode(a, ROUND_ODD), ROUND_RM); } \
    uint narrow##_from_##integer##_rp(const in A a) \
    { return narrow##_from_f32_mode(f32_from_##integer##_mode(a, ROUND_ODD), ROUND_RP); }
THROUGH_F32(f16, u32, uint)
THROUGH_F32(f16, s32, uint)
THROUGH_F32(f16, u64, uvec2)
THROUGH_F32(f16, s64, uvec2)
THROUGH_F32(bf16, u32, uint)
THROUGH_F32(bf16, s32, uint)
THROUGH_F32(bf16, u64, uvec2)
THROUGH_F32(bf16, s64, uvec2)
