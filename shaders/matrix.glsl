// Sums of products as tensor cores make them (docs/reference/hardware.md): the products are exact,
// all terms are aligned to the largest exponent, cut toward zero 25 bits below it and added.
//
// An element is unpacked into a word: the sign, an exponent of 15 bits and a significand of 11.
// Exponents are such that sums of two of them tell what a product is: those of finite numbers begin
// at 512 and zero has 0, so that no product with zero exceeds one without; infinity has 4096, and
// NaN 16384. Of an exponent of infinity's (bit 12) those of a product with zero lack bit 9.
#define MATRIX_FINITE 512u
#define MATRIX_INF 4096u
#define MATRIX_NAN 16384u

// `field` and `fraction` as formats have them, the fraction of 10 bits; the sign in its place.
uint matrix_element(const in uint sign, const in uint field, const in uint fraction,
    const in uint top)
{
    uint special = PICK(fraction == 0u, MATRIX_INF, MATRIX_NAN);
    uint exponent = PICK(field == top, special, max(field, 1u) + MATRIX_FINITE);
    exponent = PICK((field | fraction) == 0u, 0u, exponent);
    return (sign & SIGN_BIT) | (exponent << 16) | fraction | PICK(field == 0u, 0u, 0x400u);
}

uint matrix_f16(const in uint a)
{
    return matrix_element(a << 16, (a >> 10) & 31u, a & 0x3ffu, 31u);
}

uint matrix_bf16(const in uint a)
{
    return matrix_element(a << 16, (a >> 7) & 255u, (a & 0x7fu) << 3, 255u);
}

uint matrix_tf32(const in uint a)
{
    return matrix_element(a, (a >> 23) & 255u, (a >> 13) & 0x3ffu, 255u);
}

// What the sum begins with: its exponent on the scale of those of products, where `bias` is 0's,
// and the sign with a significand of 24 bits. Zero counts as 2^-133.
uvec2 matrix_addend(const in uint sign, const in uint field, const in uint fraction,
    const in uint top, const in uint bias)
{
    uint special = PICK(fraction == 0u, MATRIX_INF, MATRIX_NAN);
    uint exponent = PICK(field == top, special, max(field, 1u) - (top >> 1) + bias);
    exponent = PICK((field | fraction) == 0u, bias - 133u, exponent);
    return uvec2(exponent, (sign & SIGN_BIT) | fraction | PICK(field == 0u, 0u, 0x800000u));
}

uvec2 matrix_addend_f32(const in uint a, const in uint bias)
{
    return matrix_addend(a, (a >> 23) & 255u, a & 0x7fffffu, 255u, bias);
}

uvec2 matrix_addend_f16(const in uint a, const in uint bias)
{
    return matrix_addend(a << 16, (a >> 10) & 31u, (a & 0x3ffu) << 13, 31u, bias);
}

uvec4 matrix_exponents(const in uvec4 x, const in uvec4 y)
{
    return ((x >> 16u) & 0x7fffu) + ((y >> 16u) & 0x7fffu);
}

// 22 bits of a product lie 5 above the unit where its exponent is the largest.
uvec4 matrix_terms(const in uvec4 x, const in uvec4 y, const in uvec4 exponents, const in uvec4 top)
{
    uvec4 product = ((x & 0x7ffu) * (y & 0x7ffu)) << 5u;
    return product >> min(top - min(exponents, top), uvec4(31u, 31u, 31u, 31u));
}

uvec4 matrix_negative(const in uvec4 x, const in uvec4 y, const in uvec4 terms)
{
    return terms & (uvec4(0u, 0u, 0u, 0u) - ((x ^ y) >> 31u));
}

// Positive and negative terms, whose sums stay below 2^32 each; the largest exponent; and in bit 12
// whether infinity met zero.
uvec4 matrix_total(const in uvec4 terms, const in uvec4 negative, const in uint top,
    const in uvec4 met, const in uvec2 c)
{
    uint at = min(top, MATRIX_INF);
    uint term = ((c.y & 0xffffffu) << 2) >> min(at - min(c.x, at), 31u);
    uint minus = negative.x + negative.y + negative.z + negative.w + PICK(int(c.y) < 0, term, 0u);
    uint all = terms.x + terms.y + terms.z + terms.w + term;
    return uvec4(all - minus, minus, top, met.x | met.y | met.z | met.w);
}

uint matrix_largest(const in uvec4 exponents)
{
    return max(max(exponents.x, exponents.y), max(exponents.z, exponents.w));
}

uvec4 matrix_sum_4(const in uvec4 x, const in uvec4 y, const in uvec2 c)
{
    uvec4 e = matrix_exponents(x, y);
    uint top = max(matrix_largest(e), c.x), at = min(top, MATRIX_INF);
    uvec4 t = matrix_terms(x, y, e, uvec4(at, at, at, at));
    return matrix_total(t, matrix_negative(x, y, t), top, e & ~(e << 3u), c);
}

uvec4 matrix_sum_8(const in uvec4 x0, const in uvec4 x1, const in uvec4 y0, const in uvec4 y1,
    const in uvec2 c)
{
    uvec4 e0 = matrix_exponents(x0, y0), e1 = matrix_exponents(x1, y1);
    uint top = max(matrix_largest(max(e0, e1)), c.x), at = min(top, MATRIX_INF);
    uvec4 t0 = matrix_terms(x0, y0, e0, uvec4(at, at, at, at));
    uvec4 t1 = matrix_terms(x1, y1, e1, uvec4(at, at, at, at));
    uvec4 negative = matrix_negative(x0, y0, t0) + matrix_negative(x1, y1, t1);
    return matrix_total(t0 + t1, negative, top, (e0 & ~(e0 << 3u)) | (e1 & ~(e1 << 3u)), c);
}

uvec4 matrix_sum_16(const in uvec4 x0, const in uvec4 x1, const in uvec4 x2, const in uvec4 x3,
    const in uvec4 y0, const in uvec4 y1, const in uvec4 y2, const in uvec4 y3, const in uvec2 c)
{
    uvec4 e0 = matrix_exponents(x0, y0), e1 = matrix_exponents(x1, y1);
    uvec4 e2 = matrix_exponents(x2, y2), e3 = matrix_exponents(x3, y3);
    uint top = max(matrix_largest(max(max(e0, e1), max(e2, e3))), c.x);
    uint at = min(top, MATRIX_INF);
    uvec4 t0 = matrix_terms(x0, y0, e0, uvec4(at, at, at, at));
    uvec4 t1 = matrix_terms(x1, y1, e1, uvec4(at, at, at, at));
    uvec4 t2 = matrix_terms(x2, y2, e2, uvec4(at, at, at, at));
    uvec4 t3 = matrix_terms(x3, y3, e3, uvec4(at, at, at, at));
    uvec4 negative = matrix_negative(x0, y0, t0) + matrix_negative(x1, y1, t1) +
        matrix_negative(x2, y2, t2) + matrix_negative(x3, y3, t3);
    uvec4 met = (e0 & ~(e0 << 3u)) | (e1 & ~(e1 << 3u)) | (e2 & ~(e2 << 3u)) | (e3 & ~(e3 << 3u));
    return matrix_total(t0 + t1 + t2 + t3, negative, top, met, c);
}

// The highest bit of what is not 0, by conversions that are exact: drivers find it lane by lane.
uint matrix_msb(const in uint a)
{
    uint upper = a >> 8;
    uint bits = floatBitsToUint(float(int(PICK(upper == 0u, a, upper)))) >> 23;
    return bits - PICK(upper == 0u, 127u, 119u);
}

bool matrix_is_nan(const in uvec4 sum)
{
    bool both = sum.z >= MATRIX_INF && min(sum.x, sum.y) != 0u;
    return sum.z >= MATRIX_NAN || (sum.w & 0x1000u) != 0u || both;
}

// The sum cut toward zero. What is cut to zero is +0.
uint matrix_result_f32(const in uvec4 sum, const in uint bias)
{
    bool minus = sum.y > sum.x;
    uint m = PICK(minus, sum.y - sum.x, sum.x - sum.y);
    uint sign = PICK(minus, SIGN_BIT, 0u);
    int unit = int(sum.z) - int(bias) - 25;
    int msb = int(matrix_msb(m));
    int down = max(msb - 23, -149 - unit);
    uint kept = PICK(down >= 0, m >> uint(max(down, 0)), m << uint(max(-down, 0)));
    int field = msb + unit + 127;
    uint r = kept + (uint(max(field, 1) - 1) << 23);
    r = PICK(field > 254 || sum.z >= MATRIX_INF, F32_INF, r);
    r = PICK(m == 0u || r == 0u, 0u, r | sign);
    return PICK(matrix_is_nan(sum), F32_NAN, r);
}

// Rounded to nearest even.
uint matrix_result_f16(const in uvec4 sum, const in uint bias)
{
    bool minus = sum.y > sum.x;
    uint m = PICK(minus, sum.y - sum.x, sum.x - sum.y);
    uint sign = PICK(minus, 0x8000u, 0u);
    int unit = int(sum.z) - int(bias) - 25;
    int msb = int(matrix_msb(m));
    int down = clamp(max(msb - 10, -24 - unit), -31, 31);
    uint by = uint(max(down, 1));
    uint cut = m >> by;
    uint rounded = cut + PICK(m << (32u - by) > round_threshold(ROUND_RN, 0u, cut), 1u, 0u);
    uint kept = PICK(down > 0, rounded, m << uint(max(-down, 0)));
    int field = msb + unit + 15;
    uint r = min(kept + (uint(max(field, 1) - 1) << 10), 0x7c00u);
    r = PICK(field > 30 || sum.z >= MATRIX_INF, 0x7c00u, r);
    r = PICK(m == 0u || r == 0u, 0u, r | sign);
    return PICK(matrix_is_nan(sum), 0x7fffu, r);
}

// Policy fast: the same routines by the device's own float operations, where an unpacked element,
// an addend and a sum are a float's bits.
uint matrix_f16_fast(const in uint a)
{
    return f32_from_f16(a);
}

uint matrix_bf16_fast(const in uint a)
{
    return a << 16;
}

uint matrix_tf32_fast(const in uint a)
{
    return a & 0xffffe000u;
}

uvec2 matrix_addend_f32_fast(const in uint a, const in uint bias)
{
    return uvec2(a, bias);
}

uvec2 matrix_addend_f16_fast(const in uint a, const in uint bias)
{
    return uvec2(f32_from_f16(a), bias);
}

float matrix_dot(const in uvec4 x, const in uvec4 y, const in float c)
{
    float sum = uintBitsToFloat(x.x) * uintBitsToFloat(y.x) + c;
    sum = uintBitsToFloat(x.y) * uintBitsToFloat(y.y) + sum;
    sum = uintBitsToFloat(x.z) * uintBitsToFloat(y.z) + sum;
    return uintBitsToFloat(x.w) * uintBitsToFloat(y.w) + sum;
}

uvec4 matrix_sum_4_fast(const in uvec4 x, const in uvec4 y, const in uvec2 c)
{
    return uvec4(floatBitsToUint(matrix_dot(x, y, uintBitsToFloat(c.x))), 0u, 0u, 0u);
}

uvec4 matrix_sum_8_fast(const in uvec4 x0, const in uvec4 x1, const in uvec4 y0, const in uvec4 y1,
    const in uvec2 c)
{
    float first = matrix_dot(x0, y0, uintBitsToFloat(c.x));
    return uvec4(floatBitsToUint(matrix_dot(x1, y1, first)), 0u, 0u, 0u);
}

uvec4 matrix_sum_16_fast(const in uvec4 x0, const in uvec4 x1, const in uvec4 x2,
    const in uvec4 x3, const in uvec4 y0, const in uvec4 y1, const in uvec4 y2, const in uvec4 y3,
    const in uvec2 c)
{
    float first = matrix_dot(x1, y1, matrix_dot(x0, y0, uintBitsToFloat(c.x)));
    return uvec4(floatBitsToUint(matrix_dot(x3, y3, matrix_dot(x2, y2, first))), 0u, 0u, 0u);
}

uint matrix_result_f32_fast(const in uvec4 sum, const in uint)
{
    return sum.x;
}

uint matrix_result_f16_fast(const in uvec4 sum, const in uint)
{
    return f16_from_f32_rn(sum.x);
}
