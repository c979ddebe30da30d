// Texture reads as the hardware does them: coordinates in fixed point, weights of 8 bits, sums
// of texels aligned to the largest. docs/hardware.md has the rules in words, tests/data/hardware
// the records.
//
// An axis word describes one coordinate: bits 0-1 the address mode, bit 2 normalised
// coordinates, bit 3 linear filtering, bit 4 a one-dimensional texture, bit 5 a gather (the
// texels around, whatever their weight).
#define TEX_WRAP 0u
#define TEX_CLAMP 1u
#define TEX_MIRROR 2u
#define TEX_BORDER 3u

// abi::SurfaceFormat, of a texel's component.
#define TEX_U8 0u
#define TEX_U16 1u
#define TEX_S8 3u
#define TEX_S16 4u
#define TEX_F16 6u
#define TEX_F32 7u

// floor(x * 2^bits) within +-2^30; NaN and denormals as 0.
int tex_fixed(const in uint x, const in uint bits)
{
    uint magnitude = x & F32_NAN;
    uint m = PICK(magnitude < 0x800000u || magnitude > F32_INF, 0u, (x & 0x7fffffu) | 0x800000u);
    int shift = int(magnitude >> 23) - 150 + int(bits);
    uint right = uint(clamp(-shift, 0, 31));
    uint kept = m >> right;
    uint rest = PICK((kept << right) != m, 1u, 0u);
    uint v = PICK(shift >= 0, m << uint(clamp(shift, 0, 6)), kept);
    v = PICK(shift > 6 && m != 0u, 0x40000000u, v);
    return PICK((x & SIGN_BIT) != 0u, -int(v + PICK(shift >= 0, 0u, rest)), int(v));
}

// floor(x * 2^bits) modulo 2^32; NaN, infinities and denormals as 0.
uint tex_fixed_modulo(const in uint x, const in uint bits)
{
    uint magnitude = x & F32_NAN;
    uint m = PICK(magnitude < 0x800000u || magnitude >= F32_INF, 0u, (x & 0x7fffffu) | 0x800000u);
    int shift = int(magnitude >> 23) - 150 + int(bits);
    uint right = uint(clamp(-shift, 0, 31));
    uint kept = m >> right;
    uint rest = PICK((kept << right) != m, 1u, 0u);
    uint v = PICK(shift >= 0, PICK(shift > 31, 0u, m << uint(clamp(shift, 0, 31))), kept);
    return PICK((x & SIGN_BIT) != 0u, 0u - (v + PICK(shift >= 0, 0u, rest)), v);
}

// Fraction bits that a normalised coordinate keeps, by the texture's extent.
uint tex_precision(const in uint n, const in bool one)
{
    return 21u + PICK(n > 8192u, 1u, 0u) + PICK(n > PICK(one, 65536u, 16384u), 1u, 0u);
}

// The texel that index i falls on. The index is at most 16 texels and one period outside.
uint tex_wrap(const in int i, const in uint n, const in uint mode)
{
    uint moved = uint(i + int(32u * n));
    uint wrapped = moved % n;
    uint folded = moved % (2u * n);
    uint mirrored = PICK(folded < n, folded, 2u * n - 1u - folded);
    uint clamped = uint(clamp(i, 0, int(n) - 1));
    return PICK(mode == TEX_WRAP, wrapped, PICK(mode == TEX_MIRROR, mirrored, clamped));
}

// One axis of a read at coordinate x, moved by `offset` texels (signed): the two texels, the second
// one's weight in 256ths, and in bits 0 and 1 whether they are texels (else the border).
uvec4 tex_axis(const in uint x, const in uint extent, const in uint axis, const in uint offset)
{
    uint n = max(extent, 1u);
    bool normalized = (axis & 4u) != 0u, linear = (axis & 8u) != 0u;
    // Coordinates in texels know no repetition.
    uint mode = PICK(normalized || (axis & 1u) != 0u, axis & 3u, TEX_CLAMP);

    uint bits = tex_precision(n, (axis & 16u) != 0u);
    uint one = 1u << bits;
    int bound = int(one << 4);
    uint modulo = tex_fixed_modulo(x, bits) & PICK(mode == TEX_MIRROR, 2u * one - 1u, one - 1u);
    uint moved = PICK((mode & 1u) == 0u, modulo + 16u * one,
        uint(clamp(tex_fixed(x, bits), -bound, bound) + bound));
    uint high = 0u, low = 0u, carry = 0u;
    umulExtended(moved, n, high, low);
    low = uaddCarry(low, PICK(linear, one >> 9, 0u), carry);
    uint shift = PICK(linear, bits - 8u, bits);
    int scaled = int(((high + carry) << (32u - shift)) | (low >> shift)) -
        int(PICK(linear, 4096u, 16u) * n);

    int unscaled = PICK(linear, (tex_fixed(x, 9u) + 1) >> 1, tex_fixed(x, 0u));
    int at = clamp(PICK(normalized, scaled, unscaled), -0x10000000, 0x10000000);
    at = PICK(linear, at - 128, clamp(at, -0x100000, 0x100000) * 256) + int(offset) * 256;
    at = PICK(mode == TEX_CLAMP && (axis & 32u) == 0u, clamp(at, 0, int(n - 1u) * 256), at);

    int first = at >> 8, second = PICK(linear, first + 1, first);
    bool border = mode == TEX_BORDER;
    uint inside = PICK(border && (first < 0 || first >= int(n)), 0u, 1u) |
                  PICK(border && (second < 0 || second >= int(n)), 0u, 2u);
    return uvec4(tex_wrap(first, n, mode), tex_wrap(second, n, mode), uint(at) & 255u, inside);
}

// A read at an integer coordinate: the texel, and whether it is one.
uvec2 tex_fetch(const in uint x, const in uint extent, const in uint offset)
{
    int i = int(x + offset);
    bool inside = i >= 0 && i < int(extent);
    return uvec2(PICK(inside, uint(i), 0u), PICK(inside, 3u, 0u));
}

uvec2 tex_fetch_clamped(const in uint x, const in uint extent, const in uint offset)
{
    return uvec2(uint(clamp(int(x + offset), 0, int(max(extent, 1u)) - 1)), 3u);
}

// The weights of four texels (x first) that share `total` 256ths: a and b are the weights of the
// second column and row. Rounding is to nearest; ties go up in the second column and down in the
// first.
uvec4 tex_weights(const in uint a, const in uint b, const in uint total)
{
    uint right = (a * total + 128u) >> 8;
    uint left = total - right;
    uint right_below = (right * b + 128u) >> 8;
    uint left_below = (left * b + 127u) >> 8;
    return uvec4(left - left_below, right - right_below, left_below, right_below);
}

// n / (2^bits - 1), rounded to nearest: the quotient's digits are n's, repeated. bits: 7, 8, 15,
// 16.
uint tex_unorm(const in uint n, const in uint bits)
{
    uint zeros = PICK(n == 0u, 0u, bits - 1u - uint(findMSB(n)));
    uint mask = (1u << bits) - 1u;
    uint digits = ((n << zeros) | (n >> (bits - zeros))) & mask;
    uint twice = PICK(bits < 9u, (digits << bits) | digits, digits);
    uint width = PICK(bits < 9u, 2u * bits, bits);
    uint top = (twice << (32u - width)) | (twice << (32u - width) >> width);
    // 7 and 15 bits leave room at the end, where the digits go on.
    top |= PICK(width == 14u, digits >> 3, PICK(width == 15u, digits >> 13, 0u));
    uint r = ((126u - zeros) << 23) + ((top >> 8) - 0x800000u) + ((top >> 7) & 1u);
    return PICK(n == 0u, 0u, r);
}

uint tex_snorm(const in int n, const in uint bits)
{
    int limit = int((1u << bits) - 1u);
    uint magnitude = uint(min(abs(n), limit));
    return tex_unorm(magnitude, bits) | PICK(n < 0, SIGN_BIT, 0u);
}

// A level of detail in 256ths, cut toward zero.
uint tex_lod(const in uint x)
{
    uint magnitude = x & F32_NAN;
    int shift = int(magnitude >> 23) - 142;
    uint m = (x & 0x7fffffu) | 0x800000u;
    uint v = PICK(shift < -23, 0u, PICK(shift >= 0, 0x800000u, m >> uint(clamp(-shift, 0, 31))));
    v = PICK(magnitude > F32_INF, 0u, v);
    return PICK((x & SIGN_BIT) != 0u, 0u - v, v);
}

// The level of detail that is read, in 256ths, and the nearest level.
uvec2 tex_levels(const in uint lod, const in uint bias, const in uint low, const in uint high)
{
    int at = max(min(int(lod) + int(bias), int(high)), int(low));
    return uvec2(uint(at), uint(at + 128) >> 8);
}

// The part of a level's weight that its second plane gets.
uint tex_share(const in uint weight, const in uint total)
{
    return (weight * total + 127u) >> 8;
}

// A component that is not filtered. `element`: integers are read as they are.
uint tex_point(const in uint raw, const in uint format, const in bool element)
{
    int s8 = int(raw << 24) >> 24, s16 = int(raw << 16) >> 16;
    uint r = raw;
    r = PICK(format == TEX_U8, PICK(element, raw, tex_unorm(raw, 8u)), r);
    r = PICK(format == TEX_U16, PICK(element, raw, tex_unorm(raw, 16u)), r);
    r = PICK(format == TEX_S8, PICK(element, uint(s8), tex_snorm(s8, 7u)), r);
    r = PICK(format == TEX_S16, PICK(element, uint(s16), tex_snorm(s16, 15u)), r);
    uint nan = ((raw & 0x8000u) << 16) | F32_INF | ((raw & 0x3ffu) << 13);  // keeps its payload
    return PICK(format == TEX_F16, PICK((raw & 0x7fffu) > 0x7c00u, nan, f32_from_f16(raw)), r);
}

// A float component for the sum: f16 becomes f32, denormals of f32 are zeros.
uint tex_float(const in uint raw, const in uint format)
{
    uint single = PICK((raw & F32_INF) == 0u, raw & SIGN_BIT, raw);
    return PICK(format == TEX_F16, f32_from_f16(raw), single);
}

// An integer component for the sum: 8 unsigned bits become 16.
int tex_integer(const in uint raw, const in uint format)
{
    int r = int(PICK(format == TEX_U8, raw * 257u, raw));
    r = PICK(format == TEX_S8, int(raw << 24) >> 24, r);
    return PICK(format == TEX_S16, int(raw << 16) >> 16, r);
}

// The exponent that a texel takes part in the alignment with; texels without weight have none.
uint tex_exponent(const in uint value, const in uint weight)
{
    return PICK(weight == 0u, 0u, (value >> 23) & 255u);
}

// The mantissa aligned to exponent `top`, four bits finer than the format, truncated.
int tex_aligned(const in uint value, const in uint top, const in uint mask)
{
    uint e = (value >> 23) & 255u;
    uint m = PICK(e == 0u, 0u, ((value & 0x7fffffu) | 0x800000u) << 4);
    int v = int((m >> min(top - min(e, top), 31u)) & mask);
    return PICK((value & SIGN_BIT) != 0u, -v, v);
}

uint tex_special(const in uint value, const in bool present)
{
    uint magnitude = value & F32_NAN;
    uint r = PICK(magnitude > F32_INF, 1u,
        PICK(value == F32_INF, 2u, PICK(magnitude == F32_INF, 4u, 0u)));
    return PICK(present, r | PICK((value & SIGN_BIT) != 0u, 0u, 8u), 0u);
}

// The weighted sum of four texels: low and high word, exponent, and what stood among the texels
// (1 NaN, 2 and 4 the infinities, 8 a positive sign). `present` has a bit for each texel that
// was read, whatever its weight.
uvec4 tex_sum(const in uvec4 raw, const in uvec4 weight, const in uint present,
    const in uint format)
{
    bool real = format >= TEX_F16;
    uint a = tex_float(raw.x, format), b = tex_float(raw.y, format);
    uint c = tex_float(raw.z, format), d = tex_float(raw.w, format);
    uint top = max(max(tex_exponent(a, weight.x), tex_exponent(b, weight.y)),
                   max(tex_exponent(c, weight.z), tex_exponent(d, weight.w)));
    top = PICK(format == TEX_F16 && top != 0u, max(top, 113u), top);
    uint mask = PICK(format == TEX_F16, 0xffffe000u, 0xffffffffu);
    int va = PICK(real, tex_aligned(a, top, mask), tex_integer(raw.x, format));
    int vb = PICK(real, tex_aligned(b, top, mask), tex_integer(raw.y, format));
    int vc = PICK(real, tex_aligned(c, top, mask), tex_integer(raw.z, format));
    int vd = PICK(real, tex_aligned(d, top, mask), tex_integer(raw.w, format));
    // 29 signed bits times 9: the upper and the lower 14 bits are summed apart.
    int upper = (va >> 14) * int(weight.x) + (vb >> 14) * int(weight.y) +
        (vc >> 14) * int(weight.z) +
                (vd >> 14) * int(weight.w);
    uint lower = (uint(va) & 16383u) * weight.x + (uint(vb) & 16383u) * weight.y +
                 (uint(vc) & 16383u) * weight.z + (uint(vd) & 16383u) * weight.w;
    uint carry = 0u;
    uint low = uaddCarry(uint(upper) << 14, lower, carry);
    uint special = tex_special(a, (present & 1u) != 0u) | tex_special(b, (present & 2u) != 0u) |
                   tex_special(c, (present & 4u) != 0u) | tex_special(d, (present & 8u) != 0u);
    return uvec4(low, uint(upper >> 18) + carry, PICK(real, top, 0u), PICK(real, special, 0u));
}

// sRGB: an entry of the table is a float's exponent, shared by eight entries, and 8 bits that need
// not be normalised.
uint tex_srgb_point(const in uint entry)
{
    uint m = entry & 255u;
    uint zeros = uint(7 - findMSB(max(m, 1u)));
    return PICK(m == 0u, 0u, (((entry >> 8) - zeros) << 23) | ((m << (zeros + 16u)) & 0x7fffffu));
}

uint tex_srgb_exponent(const in uint entry, const in uint weight)
{
    return PICK(weight == 0u || (entry & 255u) == 0u, 0u, entry >> 8);
}

uint tex_srgb_part(const in uint entry, const in uint top, const in uint weight)
{
    return ((entry & 255u) >> min(top - min(entry >> 8, top), 31u)) * weight;
}

// As tex_sum, of entries of the table: no bit is kept beyond the eight of the largest.
uvec4 tex_srgb_sum(const in uvec4 entry, const in uvec4 weight)
{
    uint top = max(max(tex_srgb_exponent(entry.x, weight.x), tex_srgb_exponent(entry.y, weight.y)),
                   max(tex_srgb_exponent(entry.z, weight.z), tex_srgb_exponent(entry.w, weight.w)));
    uint sum = tex_srgb_part(entry.x, top, weight.x) + tex_srgb_part(entry.y, top, weight.y) +
               tex_srgb_part(entry.z, top, weight.z) + tex_srgb_part(entry.w, top, weight.w);
    return uvec4(sum << 20, sum >> 12, top, 8u);
}

// A filtered component of integers out of the sum.
uint tex_quotient(const in uint sum, const in uint format)
{
    int total = int(sum);
    int word = (total + 128) >> 8;
    int byte_word = total + ((total + 64 + (total >> 12) * 16) >> 7);
    uint r = tex_unorm(uint(word) & 0xffffu, 16u);
    r = PICK(format == TEX_S16, tex_snorm(word, 15u), r);
    r = PICK(format == TEX_S8, tex_snorm(byte_word, 15u), r);
    return r;
}

// A gathered component: 8 signed bits come out of the filter.
uint tex_gathered(const in uint raw, const in uint format, const in bool element)
{
    uint filtered = tex_quotient(uint(tex_integer(raw, format)) << 8, format);
    return PICK(format == TEX_S8 && !element, filtered, tex_point(raw, format, element));
}

// A sum aligned to exponent `top`: one bit below its unit is kept, the rest cut off, downward.
uvec2 tex_place(const in uvec4 sum, const in uint top)
{
    uint low = sum.x << 1, high = (sum.y << 1) | (sum.x >> 31);
    uint down = min(top - min(sum.z, top), 63u);
    uint by = down & 31u;
    uint fill = uint(int(high) >> 31);
    uint low_part = PICK(by == 0u, low, (low >> by) | (high << (32u - max(by, 1u))));
    uint high_part = uint(int(high) >> by);
    bool far = down > 31u;
    return uvec2(PICK(far, high_part, low_part), PICK(far, fill, high_part));
}

uvec2 tex_add(const in uvec2 a, const in uvec2 b)
{
    uint carry = 0u;
    uint low = uaddCarry(a.x, b.x, carry);
    return uvec2(low, a.y + b.y + carry);
}

// The float of a sum that stands at exponent `top`, rounded to nearest with ties away from zero.
uint tex_round(const in uvec2 sum, const in uint top, const in uint special, const in uint format)
{
    uint low = sum.x, high = sum.y, borrow = 0u;
    uint sign = high & SIGN_BIT;
    bool negative = sign != 0u;
    uint negated = usubBorrow(0u, low, borrow);
    high = PICK(negative, 0u - high - borrow, high);
    low = PICK(negative, negated, low);

    // The leading one to bit 31 of `high`.
    uint first = PICK(high == 0u, low, high), second = PICK(high == 0u, 0u, low);
    uint zeros = uint(31 - findMSB(max(first, 1u)));
    uint m = PICK(zeros == 0u, first, (first << zeros) | (second >> (32u - max(zeros, 1u))));
    int e = int(top) + 27 - int(zeros) - int(PICK(high == 0u, 32u, 0u));
    // f16 keeps 13 bits less, and fewer still below its least normal number.
    uint drop = uint(clamp(13 + max(113 - e, 0), 13, 24));
    uint bits = (uint(e) << 23) + ((m >> 8) & 0x7fffffu);
    uint half_up = (bits + (1u << (drop - 1u))) & ~((1u << min(drop, 23u)) - 1u);
    half_up = PICK(e < 102, 0u, PICK(half_up >= 0x47800000u, F32_INF, half_up));
    uint single = PICK(e < 1, 0u, min(bits + ((m >> 7) & 1u), F32_INF));
    uint r = PICK(format == TEX_F16, half_up, single);

    uint zero = PICK((special & 8u) == 0u, SIGN_BIT, 0u);
    r = PICK((low | high) == 0u, zero, sign | r);
    r = PICK((special & 6u) == 2u, F32_INF, PICK((special & 6u) == 4u, SIGN_BIT | F32_INF, r));
    bool nan = (special & 1u) != 0u || (special & 6u) == 6u;
    return PICK(nan, PICK(format == TEX_F16, 0x7fffe000u, F32_NAN), r);
}

// The filtered component out of two sums: planes, or levels, or one sum and zeros.
uint tex_filtered(const in uvec4 near, const in uvec4 far, const in uint format)
{
    uint top = max(near.z, far.z);
    uvec2 total = tex_add(tex_place(near, top), tex_place(far, top));
    uint r = tex_round(total, top, near.w | far.w, format);
    return PICK(format >= TEX_F16, r, tex_quotient(near.x + far.x, format));
}

// The same out of the planes of two levels.
uint tex_filtered_all(const in uvec4 a, const in uvec4 b, const in uvec4 c, const in uvec4 d,
    const in uint format)
{
    uint top = max(max(a.z, b.z), max(c.z, d.z));
    uvec2 total = tex_add(tex_add(tex_place(a, top), tex_place(b, top)),
        tex_add(tex_place(c, top), tex_place(d, top)));
    uint r = tex_round(total, top, (a.w | b.w) | (c.w | d.w), format);
    return PICK(format >= TEX_F16, r, tex_quotient((a.x + b.x) + (c.x + d.x), format));
}

// f32 to the f16 of a .f16 result.
uint tex_half(const in uint value)
{
    return PICK((value & F32_NAN) > F32_INF, 0x7fffu, f16_from_f32_rn(value));
}

// The face of a cube that direction (x, y, z) meets, and where, as normalised coordinates: z
// before y before x among equals. A NaN counts as 0. Directions without a length meet the middle
// of +z, so do infinite ones, but for an infinite z, which meets that of +y.
uvec4 tex_cube(const in uint given_x, const in uint given_y, const in uint given_z)
{
    uint x = PICK((given_x & F32_NAN) > F32_INF, 0u, given_x);
    uint y = PICK((given_y & F32_NAN) > F32_INF, 0u, given_y);
    uint z = PICK((given_z & F32_NAN) > F32_INF, 0u, given_z);
    uint ax = x & F32_NAN, ay = y & F32_NAN, az = z & F32_NAN;
    bool by_z = az >= ax && az >= ay, by_y = !by_z && ay >= ax;
    uint major = PICK(by_z, z, PICK(by_y, y, x));
    uint length = major & F32_NAN;
    bool back = (major & SIGN_BIT) != 0u && length != 0u;
    uint flip = PICK(back, SIGN_BIT, 0u);
    uint s = PICK(by_z, x ^ flip, PICK(by_y, x, z ^ flip ^ SIGN_BIT));
    uint t = PICK(by_y, z ^ flip, y ^ SIGN_BIT);
    uint face = PICK(by_z, 4u, PICK(by_y, 2u, 0u)) + PICK(back, 1u, 0u);
    const uint half_one = 0x3f000000u;
    uint u = f32_fma_rm(f32_div_rn(s, length), half_one, half_one);
    uint v = f32_fma_rm(f32_div_rn(t, length), half_one, half_one);
    bool lost = length == 0u || length >= F32_INF;
    return PICK4(lost, uvec4(PICK(az >= F32_INF, 2u, 4u), half_one, half_one, 0u),
        uvec4(face, u, v, 0u));
}

// ---- Gradients: lengths in texels as floats of non-negative bits.

uint tex_gradient(const in uint x, const in uint extent)
{
    bool lost = (x & F32_NAN) > F32_INF || (x & F32_INF) == 0u;
    float product = uintBitsToFloat(PICK(lost, 0u, x)) * float(extent);
    return floatBitsToUint(product);
}

// A vector's length, about: the largest component, 11/32 of the middle one and 1/4 of the least.
float tex_length(const in float x, const in float y, const in float z)
{
    float a = abs(x), b = abs(y), c = abs(z);
    float most = max(max(a, b), c), least = min(min(a, b), c);
    float middle = max(min(a, b), min(max(a, b), c));
    return most + 0.34375 * middle + 0.25 * least;
}

// One step of a binary logarithm: the next digit, and the number that the rest is of. 31 bits of
// fraction.
uvec2 tex_log_step(const in uvec2 at)
{
    uint high = 0u, low = 0u;
    umulExtended(at.x, at.x, high, low);
    bool carry = (high & SIGN_BIT) != 0u;
    return uvec2(PICK(carry, high, (high << 1) | (low >> 31)), at.y * 2u + PICK(carry, 1u, 0u));
}

// 256 log2 of a float of 8 bits of mantissa, rounded, at 0.47 of what those stand for; the ends
// keep 0 and 255.
int tex_log2(const in uint x)
{
    uint m = (x >> 15) & 255u;
    uvec2 at = uvec2(SIGN_BIT | (m << 23) | 0x3c28f6u, 0u);
    at = tex_log_step(tex_log_step(tex_log_step(at)));
    at = tex_log_step(tex_log_step(tex_log_step(at)));
    at = tex_log_step(tex_log_step(tex_log_step(at)));
    uint fraction = PICK(m == 0u, 0u, min((at.y + 1u) >> 1, 255u));
    return (int(x >> 23) - 127) * 256 + int(fraction);
}

// The level of detail of two gradients: the longest of both, and of their sum and difference times
// 11/16.
uint tex_lod_gradient(const in uvec4 dx, const in uvec4 dy)
{
    float ax = uintBitsToFloat(dx.x), ay = uintBitsToFloat(dx.y), az = uintBitsToFloat(dx.z);
    float bx = uintBitsToFloat(dy.x), by = uintBitsToFloat(dy.y), bz = uintBitsToFloat(dy.z);
    float longest = max(tex_length(ax, ay, az), tex_length(bx, by, bz));
    longest = max(longest, 0.6875 * tex_length(ax + bx, ay + by, az + bz));
    longest = max(longest, 0.6875 * tex_length(ax - bx, ay - by, az - bz));
    return uint(clamp(tex_log2(floatBitsToUint(longest)), -0x8000, 0x8000));
}
