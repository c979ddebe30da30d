// PTX's approximate functions, within the manual's error bounds on every device: own range
// reductions and polynomials (interpolated at Chebyshev nodes; the error given is the polynomial's
// own), exact special values. Where they lean on the device, it is for add and mul of normal
// numbers and for a reciprocal or a root within 5 ulp. Denormal operands and results count, unless
// the translator flushes them for .ftz.

// 1.5 2^23: adding and subtracting it rounds to the nearest integer, which also stands in the
// sum's low bits; times 2^23 they are an exponent. On SwiftShader roundEven costs twenty
// additions, and a shift nine.
#define ROUND_MAGIC 12582912.0f

// 2^x: x = n + f, |f| <= 1/2; 1 + f P(f), error 2^-27.9. A denormal result is rounded half up in
// units of 2^-149.
uint f32_ex2_approx(const in uint a)
{
    bool nan = int(a & F32_NAN) > 0x7f800000;
    float x = clamp(uintBitsToFloat(PICK(nan, 0u, a)), -160.0f, 128.0f);
    precise float raised = x + ROUND_MAGIC;
    precise float n = raised - ROUND_MAGIC;
    float f = x - n;
    float p = 0.000154531634f;
    p = p * f + 0.00133908633f;
    p = p * f + 0.00961808302f;
    p = p * f + 0.0555035695f;
    p = p * f + 0.240226507f;
    p = p * f + 0.693147182f;
    p = p * f + 1.0f;
    uint exponent = floatBitsToUint(raised) * 0x00800000u;
    int normal = int(floatBitsToUint(p) + exponent);
    float units = p * uintBitsToFloat(exponent + 0x8a000000u);
    uint r = uint(PICK(normal < 0x00800000, int(units + 0.5f), normal));
    return PICK(nan, F32_NAN, r);
}

// log2 x: x = 2^e m, m in [sqrt(1/2), sqrt(2)); t = m - 1, e + t P(t), error 2^-28.2.
uint f32_lg2_approx(const in uint a)
{
    uint n = uint(f32_normal(a & F32_NAN));
    int field = int((n - 0x3f3504f3u) & 0xff800000u);  // e in the exponent's place
    float t = uintBitsToFloat(n - uint(field)) - 1.0f;
    float p = -0.107497893f;
    p = p * t + 0.184760332f;
    p = p * t - 0.191388384f;
    p = p * t + 0.204857647f;
    p = p * t - 0.239608124f;
    p = p * t + 0.288552552f;
    p = p * t - 0.360696554f;
    p = p * t + 0.480898529f;
    p = p * t - 0.721347332f;
    p = p * t + 1.44269502f;
    uint r = floatBitsToUint(p * t + float(field) * 1.1920928955078125e-7f);
    r = PICK(a == F32_INF, F32_INF, r);
    r = PICK(a > F32_INF, F32_NAN, r);
    return PICK((a & F32_NAN) == 0u, 0xff800000u, r);
}

// Sine of x + turns * pi / 2: x = k pi / 2 + r, pi / 2 in three parts, so that k times the first
// is exact up to |k| = 2^16; then r + r^3 P(r^2), error 2^-26.4, or 1 - r^2 / 2 + r^4 Q(r^2),
// error 2^-30.1.
uint f32_sin_turned(const in uint a, const in uint turns)
{
    bool large =
        (a & F32_NAN) > 0x49000000u;  // 2^19: nothing is promised, the result stays in [-1, 1]
    float x = uintBitsToFloat(PICK(large, 0u, a));
    precise float raised = x * 0.636619772f + ROUND_MAGIC;
    precise float k = raised - ROUND_MAGIC;
    precise float k1 = k * 1.5703125f;
    precise float k2 = k * 4.837512969970703125e-4f;
    precise float k3 = k * 7.54978995489188216e-8f;
    precise float r1 = x - k1;
    precise float r2 = r1 - k2;
    precise float r = r2 - k3;
    r = clamp(r, -0.8f, 0.8f);
    float z = r * r;
    float s = -0.000195814398f;
    s = s * z + 0.00833271816f;
    s = s * z - 0.166666642f;
    s = s * z * r + r;
    float c = 2.45414776e-05f;
    c = c * z - 0.00138882722f;
    c = c * z + 0.0416666642f;
    c = c * z - 0.5f;
    c = c * z + 1.0f;
    uint quadrant = floatBitsToUint(raised) + turns;
    uint bits = floatBitsToUint(PICK((quadrant & 1u) != 0u, c, s));
    bits ^= (quadrant & 2u) * 0x40000000u;
    return PICK((a & F32_NAN) >= F32_INF, F32_NAN, bits);
}

uint f32_sin_approx(const in uint a)
{
    return PICK((a & F32_NAN) < 0x39800000u, a, f32_sin_turned(a, 0u));  // 2^-12: x itself
}

uint f32_cos_approx(const in uint a)
{
    return f32_sin_turned(a, 1u);
}

// tanh: x + x^3 P(x^2) below 0.6 (error 2^-19.5), else 1 - 2 / (e^2x + 1); 2^-11 is asked for.
uint f32_tanh_approx(const in uint a)
{
    uint magnitude = a & F32_NAN;
    float x = uintBitsToFloat(min(magnitude, 0x41200000u));  // 10: 1 - 2^-27
    float z = x * x;
    float p = 0.0150986826f;
    p = p * z - 0.052058354f;
    p = p * z + 0.133152232f;
    p = p * z - 0.333330572f;
    uint small = floatBitsToUint(p * z * x + x);
    small = PICK(magnitude < 0x39800000u, magnitude, small);
    float y = x * 2.88539008f;
    precise float raised = y + ROUND_MAGIC;
    precise float n = raised - ROUND_MAGIC;
    float f = y - n;
    float q = 0.00966636837f;
    q = q * f + 0.0555038117f;
    q = q * f + 0.240223497f;
    q = q * f + 0.693147182f;
    q = q * f + 1.0f;
    float power = uintBitsToFloat(floatBitsToUint(q) + floatBitsToUint(raised) * 0x00800000u);
    uint large = floatBitsToUint(1.0f - 2.0f / (power + 1.0f));
    uint r = PICK(magnitude < 0x3f19999au, small, large) | (a & SIGN_BIT);
    return PICK(magnitude > F32_INF, F32_NAN, r);
}

// 1 / sqrt x: the device's estimate y for m in [1, 4), and one step of Newton y + y e / 2, e = 1 -
// m y^2. With y = h + l, h of 12 bits, h^2 is exact and m h^2 an integer product, of which 2^-29
// is kept; the rest, m (y + h) l, is small enough for floats. Error 2^-23.9.
uint f32_rsqrt_approx(const in uint a)
{
    uint ua = a & F32_NAN;
    uint n = uint(f32_normal(ua));
    bool odd = (n & 0x800000u) == 0u;  // of the exponent without its bias
    float m = uintBitsToFloat((n & 0x7fffffu) | PICK(odd, 0x40000000u, 0x3f800000u));
    float y = 1.0f / sqrt(m);
    precise float h = uintBitsToFloat(floatBitsToUint(y) & 0xfffff000u);
    precise float l = y - h;
    precise float square = h * h;
    uint product =
        u32_mul_wide(uint(int(m * 8388608.0f)) * 128u, uint(int(square * 16777216.0f)) * 128u).y;
    float residual = float(0x20000000 - int(product)) * 1.862645149230957e-9f - m * (y + h) * l;
    float better = y + y * (0.5f * residual);
    int field = int(n & 0xff800000u) - PICK(odd, 0x40000000, 0x3f800000);
    uint r = floatBitsToUint(better) - uint(int(float(field) * 0.5f));
    r = PICK(a == F32_INF, 0u, r);
    r = PICK(ua == 0u, a | F32_INF, r);
    bool negative = a > SIGN_BIT;
    bool nan = ua > F32_INF || negative;
    return PICK(nan, F32_NAN, r);
}

// Gross approximations with 20 bits of significand and a zero low word, from which nvcc's double
// division and root iterate. Denormals count as zero; the operand's low word does not count at all.

uvec2 f64_rcp_approx(const in uvec2 a)
{
    uint sign = a.y & SIGN_BIT;
    int e = int((a.y >> 20) & 0x7ffu);
    float m = uintBitsToFloat(((a.y & 0xfffffu) << 3) | 0x3f800000u);
    uint y = floatBitsToUint(1.0f / m);
    int high = int(y >> 3) + ((896 + 1023 - e) << 20);
    uint r = PICK(high < 0x100000, 0u, uint(high));
    r = PICK(e == 2047, 0u, r);
    r = PICK(e == 0, F64_INF_HIGH, r) | sign;
    bool nan = (a.y & 0x7fffffffu) > F64_INF_HIGH;
    return PICK2(nan, uvec2(0u, 0x7fffffffu), uvec2(0u, r));
}

uvec2 f64_rsqrt_approx(const in uvec2 a)
{
    int e = int((a.y >> 20) & 0x7ffu) - 1023;
    uint odd = uint(e) & 1u;
    float m = uintBitsToFloat((((a.y & 0xfffffu) << 3) | 0x3f800000u) + (odd << 23));
    uint y = floatBitsToUint(1.0f / sqrt(m));
    uint r = uint(int(y >> 3) + ((896 - ((e - int(odd)) >> 1)) << 20));
    r = PICK(e == 1024, 0u, r);
    r = PICK(e == -1023, (a.y & SIGN_BIT) | F64_INF_HIGH, r);
    bool negative = int(a.y) < 0;
    bool nonzero = e != -1023;
    bool invalid = negative && nonzero;
    bool nan = (a.y & 0x7fffffffu) > F64_INF_HIGH;
    return PICK2(nan || invalid, uvec2(0u, 0x7fffffffu), uvec2(0u, r));
}
