// Texture reads as the hardware does them: coordinates in fixed point, weights of 8 bits, sums
// of texels aligned to the largest. hardware.md has the rules in words, tests/data/hardware
// the records.
//
// abi::SurfaceFormat, of a texel's component.
#define TEX_F16 6u

// floor(x * 2^bits) within +-2^30; NaN and denormals as 0. Scaling by a power of two and floor are
// exact on every device.
int tex_fixed(const in uint x, const in uint bits)
{
    uint magnitude = x & F32_NAN;
    float v = uintBitsToFloat(PICK(magnitude < 0x800000u || magnitude > F32_INF, 0u, x));
    float limit = uintBitsToFloat((157u - bits) << 23);
    return int(floor(clamp(v, -limit, limit) * uintBitsToFloat((127u + bits) << 23)));
}

// floor(x * 2^bits) modulo 2^(bits + 1); NaN, infinities and denormals as 0. Multiples of 2 are 0,
// and from 2^24 on there is nothing else.
uint tex_fixed_modulo(const in uint x, const in uint bits)
{
    uint magnitude = x & F32_NAN;
    float v = uintBitsToFloat(PICK(magnitude < 0x800000u || magnitude >= 0x4b800000u, 0u, x));
    float whole = floor(v * uintBitsToFloat((127u + bits) << 23));
    float period = uintBitsToFloat((128u + bits) << 23);
    return uint(whole - period * floor(whole * uintBitsToFloat((126u - bits) << 23)));
}

// Fraction bits that a normalised coordinate keeps, by the level's largest extent. `one`: a line
// that has no levels.
uint tex_precision(const in uint n, const in bool one)
{
    return 21u + PICK(n > 8192u, 1u, 0u) + PICK(n > PICK(one, 65536u, 16384u), 1u, 0u);
}

// A coordinate in 256ths of a texel: that of the first of two texels under linear filtering, else
// of the texel, a multiple of 256. Here coordinates in texels.
uint tex_at_texel(const in uint x, const in bool linear)
{
    uint magnitude = x & F32_NAN;
    float v = uintBitsToFloat(PICK(magnitude < 0x800000u || magnitude > F32_INF, 0u, x));
    float parts = clamp(v, -1048576.0f, 1048576.0f) * 256.0f;
    float whole = floor(parts);
    int near = int(whole) + PICK(parts - whole >= 0.5f, 1, 0) - 128;
    return uint(PICK(linear, near, int(floor(clamp(v, -1048576.0f, 1048576.0f))) * 256));
}

// `moved` has `bits` of fraction, and 13 bits above them at most.
int tex_scaled(const in uint moved, const in uint n, const in uint bits, const in bool linear)
{
    uint low = (moved & 8191u) * n + PICK(linear, 1u << (bits - 9u), 0u);
    uint sum = (moved >> 13) * n + (low >> 13);
    return PICK(linear, int(sum >> (bits - 21u)), int(sum >> (bits - 13u)));
}

// Normalised coordinates under wrap and mirror: within one period, and for mirror two.
uint tex_at_repeated(const in uint x, const in uint extent, const in uint largest,
    const in bool mirror, const in bool linear, const in bool one)
{
    uint n = max(extent, 1u), bits = tex_precision(largest, one);
    uint moved = tex_fixed_modulo(x, bits) & PICK(mirror, (2u << bits) - 1u, (1u << bits) - 1u);
    int at = tex_scaled(moved, n, bits, linear);
    return uint(PICK(linear, at - 128, at * 256));
}

// Normalised coordinates under clamp and border: as far outside as offsets reach.
uint tex_at_bounded(const in uint x, const in uint extent, const in uint largest,
    const in bool linear, const in bool one)
{
    uint n = max(extent, 1u), bits = tex_precision(largest, one);
    uint periods = PICK(n > 8192u, 2u, 16u);
    int bound = int(periods << bits);
    uint moved = uint(clamp(tex_fixed(x, bits), -bound, bound) + bound);
    int at = tex_scaled(moved, n, bits, linear);
    return uint(PICK(linear, at - int(256u * periods * n) - 128, (at - int(periods * n)) * 256));
}

// The texel that index i falls on under wrap and mirror. The index is at most 32 texels and one
// period outside.
uint tex_repeat(const in uint i, const in uint extent, const in bool mirror)
{
    uint n = max(extent, 1u);
    uint moved = i + 32u * n;
    uint folded = moved % (2u * n);
    return PICK(mirror, PICK(folded < n, folded, 2u * n - 1u - folded), moved % n);
}

// The same of an index that no offset has moved: at most one texel outside.
uint tex_repeat_near(const in uint i, const in uint n, const in bool mirror)
{
    uint period = PICK(mirror, 2u * n, n);
    uint moved = PICK(int(i) < 0, i + period, PICK(i >= period, i - period, i));
    return PICK(moved < n, moved, 2u * n - 1u - moved);
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
    int last = int(max(extent, 1u)) - 1, near = clamp(int(x), -64, last + 64);
    return uvec2(uint(clamp(near + int(offset), 0, last)), 3u);
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

// Whole numbers over 2^k - 1, rounded to nearest: n / 2^k and the rest of the series, which is one
// rounding away from it.
uint tex_over_255(const in float n)
{
    float x = n * 0.00390625f;
    precise float rest = x * 3.92156885936856269836e-3f;
    precise float r = x + rest;
    return floatBitsToUint(r);
}

uint tex_over_127(const in float n)
{
    float x = max(n, -127.0f) * 0.0078125f;
    precise float rest = x * 7.87401571869850158691e-3f;
    precise float r = x + rest;
    return floatBitsToUint(r);
}

uint tex_over_65535(const in float n)
{
    float x = n * 1.52587890625e-5f;
    precise float rest = x * 1.52590218931436538696e-5f;
    precise float r = x + rest;
    return floatBitsToUint(r);
}

uint tex_over_32767(const in float n)
{
    float x = max(n, -32767.0f) * 3.0517578125e-5f;
    precise float rest = x * 3.0518509447574615478515625e-5f;
    precise float r = x + rest;
    return floatBitsToUint(r);
}

uint tex_unorm8(const in uint n) { return tex_over_255(float(int(n))); }

uint tex_unorm16(const in uint n) { return tex_over_65535(float(int(n))); }

// Signed numbers in 32 bits.
uint tex_snorm8(const in uint n) { return tex_over_127(float(int(n))); }

uint tex_snorm16(const in uint n) { return tex_over_32767(float(int(n))); }

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

// A half float that is not filtered: a NaN keeps its payload.
uint tex_point_f16(const in uint raw)
{
    uint nan = ((raw & 0x8000u) << 16) | F32_INF | ((raw & 0x3ffu) << 13);
    return PICK((raw & 0x7fffu) > 0x7c00u, nan, f32_from_f16(raw));
}

// What stands among four texels, whose bits are signed and compare like integers: 1 NaN, 2 and 4
// the infinities, 8 a positive sign. `infinity` is that of their format.
uint tex_specials(const in uvec4 v, const in uint infinity)
{
    int high = max(max(int(v.x), int(v.y)), max(int(v.z), int(v.w)));
    uint low = max(max(v.x, v.y), max(v.z, v.w));
    uint minus = infinity | SIGN_BIT;
    return PICK(high > int(infinity) || low > minus, 1u, 0u) |
        PICK(high == int(infinity), 2u, 0u) | PICK(low == minus, 4u, 0u) | PICK(high >= 0, 8u, 0u);
}

// Texels with weight; the others are zeros.
uvec4 tex_weighty(const in uvec4 v, const in uvec4 weight)
{
    return uvec4(PICK(weight.x == 0u, 0u, v.x), PICK(weight.y == 0u, 0u, v.y),
        PICK(weight.z == 0u, 0u, v.z), PICK(weight.w == 0u, 0u, v.w));
}

// The exponent that texels are aligned to, in its place in a float's bits: that of the largest one.
uint tex_largest(const in uvec4 v)
{
    return max(max(v.x & F32_INF, v.y & F32_INF), max(v.z & F32_INF, v.w & F32_INF));
}

// A texel in units of 2^-27 of exponent `top`, cut toward zero: below 2^28. Denormals are zeros.
// `raise` keeps the product with a power of two, `unit`, within the range of floats.
float tex_units(const in uint v, const in float raise, const in float unit)
{
    float x = uintBitsToFloat(PICK((v & F32_INF) == 0u, 0u, v));
    return trunc(x * raise * unit);
}

// The weighted sum of four texels of f32: the bits of its upper part, which counts 2^14, and of its
// lower one. Both are whole numbers up to 2^22, so that no operation rounds and none is a shift,
// which CPU drivers do lane by lane.
uvec2 tex_parts_f32(const in uvec4 v, const in uvec4 weight, const in uint top)
{
    bool small = top < 0x20000000u;
    float raise = PICK(small, 18446744073709551616.0f, 1.0f);
    float unit = uintBitsToFloat(PICK(small, 0x6c800000u, 0x8c800000u) - top);
    float a = tex_units(v.x, raise, unit), b = tex_units(v.y, raise, unit);
    float c = tex_units(v.z, raise, unit), d = tex_units(v.w, raise, unit);
    float wa = float(int(weight.x)), wb = float(int(weight.y));
    float wc = float(int(weight.z)), wd = float(int(weight.w));
    float part = 6.103515625e-5f;
    float ah = trunc(a * part), bh = trunc(b * part), ch = trunc(c * part), dh = trunc(d * part);
    float al = a - ah * 16384.0f, bl = b - bh * 16384.0f;
    float cl = c - ch * 16384.0f, dl = d - dh * 16384.0f;
    float upper = ah * wa + bh * wb + ch * wc + dh * wd;
    float lower = al * wa + bl * wb + cl * wc + dl * wd;
    return uvec2(floatBitsToUint(upper), floatBitsToUint(lower));
}

// An f16 as f32, exactly.
uint tex_from_half(const in uint h)
{
    uint magnitude = h & 0x7fffu;
    uint denormal = floatBitsToUint(float(int(magnitude)) * 5.9604644775390625e-8f);
    uint normal = magnitude * 8192u + PICK(magnitude >= 0x7c00u, 0x70000000u, 0x38000000u);
    return PICK(magnitude < 0x400u, denormal, normal) | ((h & 0x8000u) * 65536u);
}

// The same sum of texels of f16 (as f32), in one part: aligned to f16's mantissa and four bits.
int tex_part_f16(const in uvec4 v, const in uvec4 weight, const in uint top)
{
    float unit = uintBitsToFloat(0x86000000u - top);
    return int(uint(int(uintBitsToFloat(v.x) * unit)) * weight.x +
        uint(int(uintBitsToFloat(v.y) * unit)) * weight.y +
        uint(int(uintBitsToFloat(v.z) * unit)) * weight.z +
        uint(int(uintBitsToFloat(v.w) * unit)) * weight.w);
}

// The exponent of f16 texels is at least that of their denormals.
uint tex_largest_half(const in uvec4 v, const in uvec4 weight)
{
    return max(tex_largest(tex_weighty(v, weight)), 0x38800000u);
}

// Zeros, infinities and NaN in place of the result `r`.
uint tex_finish(const in uint r, const in bool nothing, const in uint special, const in uint nan)
{
    uint some = PICK(nothing, PICK((special & 8u) == 0u, SIGN_BIT, 0u), r);
    some = PICK((special & 4u) != 0u, SIGN_BIT | F32_INF, some);
    some = PICK((special & 2u) != 0u, F32_INF, some);
    return PICK((special & 1u) != 0u || (special & 6u) == 6u, nan, some);
}

// The float of a sum in two parts, the lesser one below the other's unit or the sum exact, rounded
// to nearest with ties away from zero; its unit is that of exponent `top` less `below`, both in
// their places in a float's bits. A denormal is 0.
uint tex_round_f32(const in float upper, const in float lower, const in uint top,
    const in uint below, const in uint special)
{
    precise float sum = upper + lower;
    precise float back = sum - upper;
    precise float rest = lower - back;
    uint bits = floatBitsToUint(sum), sign = bits & SIGN_BIT, magnitude = bits & F32_NAN;
    // What was rounded off, positive where the sum was cut. Half a unit is a tie.
    float ahead = uintBitsToFloat(floatBitsToUint(rest) ^ sign);
    bool up = ahead * 16777216.0f >= uintBitsToFloat(magnitude & F32_INF);
    uint cut = magnitude - PICK(ahead < 0.0f, 1u, 0u);
    bool denormal = (cut & F32_INF) + top < below + 0x800000u;
    uint r = min(magnitude + PICK(up, 1u, 0u) + top - below, F32_INF);
    return tex_finish(sign | PICK(denormal, 0u, r), sum == 0.0f, special, F32_NAN);
}

// The same of a sum of 24 bits, rounded to f16.
uint tex_round_f16(const in float sum, const in uint top, const in uint below,
    const in uint special)
{
    uint bits = floatBitsToUint(sum), sign = bits & SIGN_BIT;
    uint r = (bits & F32_NAN) + top - below;
    uint normal = (r + 0x1000u) & 0xffffe000u;
    float halves = floor(uintBitsToFloat(r) * 16777216.0f + 0.5f) * 5.9604644775390625e-8f;
    r = PICK((r & F32_INF) < 0x38800000u, floatBitsToUint(halves),
        PICK(normal >= 0x47800000u, F32_INF, normal));
    return tex_finish(sign | r, sum == 0.0f, special, 0x7fffe000u);
}

// The filtered component of one plane of one level.
uint tex_plane_f32(const in uvec4 v, const in uvec4 weight)
{
    uvec4 some = tex_weighty(v, weight);
    uint top = tex_largest(some);
    uvec2 sum = tex_parts_f32(some, weight, top);
    return tex_round_f32(uintBitsToFloat(sum.x) * 16384.0f, uintBitsToFloat(sum.y), top,
        0x51000000u, tex_specials(v, F32_INF));
}

uint tex_plane_f16(const in uvec4 raw, const in uvec4 weight)
{
    uvec4 v = uvec4(tex_from_half(raw.x), tex_from_half(raw.y), tex_from_half(raw.z),
        tex_from_half(raw.w));
    uint top = tex_largest_half(v, weight);
    return tex_round_f16(float(tex_part_f16(v, weight, top)), top, 0x4a800000u,
        tex_specials(v, F32_INF));
}

// A sum of texels that others are added to: low and high word, exponent, and what stood among them.
uvec4 tex_sum_f32(const in uvec4 v, const in uvec4 weight)
{
    uvec4 some = tex_weighty(v, weight);
    uint top = tex_largest(some);
    uvec2 sum = tex_parts_f32(some, weight, top);
    int upper = int(uintBitsToFloat(sum.x)), lower = int(uintBitsToFloat(sum.y));
    uint carry = 0u;
    uint low = uaddCarry(uint(upper) << 14, uint(lower), carry);
    uint high = uint(upper >> 18) + uint(lower >> 31) + carry;
    return uvec4(low, high, top >> 23, tex_specials(v, F32_INF));
}

uvec4 tex_sum_f16(const in uvec4 raw, const in uvec4 weight)
{
    uvec4 v = uvec4(tex_from_half(raw.x), tex_from_half(raw.y), tex_from_half(raw.z),
        tex_from_half(raw.w));
    uint top = tex_largest_half(v, weight);
    int sum = tex_part_f16(v, weight, top);
    return uvec4(uint(sum) << 13, uint(sum >> 19), top >> 23, tex_specials(v, F32_INF));
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

// The same of sums below 2^39.
uint tex_round_sum(const in uvec2 sum, const in uint top, const in uint special,
    const in uint format)
{
    float upper = float(int((sum.y << 14) | (sum.x >> 18))) * 262144.0f;
    float lower = float(int(sum.x & 0x3ffffu));
    uint single = tex_round_f32(upper, lower, top << 23, 0x51800000u, special);
    return PICK(format == TEX_F16, tex_round(sum, top, special, format), single);
}

// The filtered component out of two sums: planes, or levels.
uint tex_filtered(const in uvec4 near, const in uvec4 far, const in uint format)
{
    uint top = max(near.z, far.z);
    uvec2 total = tex_add(tex_place(near, top), tex_place(far, top));
    return tex_round_sum(total, top, near.w | far.w, format);
}

// The same out of the planes of two levels.
uint tex_filtered_all(const in uvec4 a, const in uvec4 b, const in uvec4 c, const in uvec4 d,
    const in uint format)
{
    uint top = max(max(a.z, b.z), max(c.z, d.z));
    uvec2 total = tex_add(tex_add(tex_place(a, top), tex_place(b, top)),
        tex_add(tex_place(c, top), tex_place(d, top)));
    return tex_round_sum(total, top, (a.w | b.w) | (c.w | d.w), format);
}

// A filtered component of integers out of the sum of the texels, whose weights count 256ths.
uint tex_quotient_u8(const in uint sum)
{
    return tex_over_65535(floor(float(int(sum * 257u + 128u)) * 0.00390625f));
}

uint tex_quotient_u16(const in uint sum)
{
    return tex_over_65535(floor(float(int(sum + 128u)) * 0.00390625f));
}

uint tex_quotient_s8(const in uint sum)
{
    float s = float(int(sum));
    float drift = floor(s * 2.44140625e-4f) * 16.0f;
    return tex_over_32767(s + floor((s + 64.0f + drift) * 0.0078125f));
}

uint tex_quotient_s16(const in uint sum)
{
    return tex_over_32767(floor(float(int(sum + 128u)) * 0.00390625f));
}

// Four texels of up to four bytes each. Two bytes of a texel are weighed in one product: no sum of
// a byte exceeds 16 bits.
uvec4 tex_plane_u8(const in uvec4 texel, const in uvec4 weight)
{
    const uint even = 0x00ff00ffu;
    uint a = (texel.x & even) * weight.x + (texel.y & even) * weight.y +
        (texel.z & even) * weight.z + (texel.w & even) * weight.w;
    uint b = ((texel.x >> 8) & even) * weight.x + ((texel.y >> 8) & even) * weight.y +
        ((texel.z >> 8) & even) * weight.z + ((texel.w >> 8) & even) * weight.w;
    return uvec4(tex_quotient_u8(a & 0xffffu), tex_quotient_u8(b & 0xffffu),
        tex_quotient_u8(a >> 16), tex_quotient_u8(b >> 16));
}

// Signed bytes as unsigned ones, 128 more: the weights are 256 together.
uvec4 tex_plane_s8(const in uvec4 texel, const in uvec4 weight)
{
    const uint even = 0x00ff00ffu, flip = 0x80808080u;
    uvec4 t = uvec4(texel.x ^ flip, texel.y ^ flip, texel.z ^ flip, texel.w ^ flip);
    uint a = (t.x & even) * weight.x + (t.y & even) * weight.y + (t.z & even) * weight.z +
        (t.w & even) * weight.w;
    uint b = ((t.x >> 8) & even) * weight.x + ((t.y >> 8) & even) * weight.y +
        ((t.z >> 8) & even) * weight.z + ((t.w >> 8) & even) * weight.w;
    return uvec4(tex_quotient_s8((a & 0xffffu) - 32768u), tex_quotient_s8((b & 0xffffu) - 32768u),
        tex_quotient_s8((a >> 16) - 32768u), tex_quotient_s8((b >> 16) - 32768u));
}

// One component of 16 bits; signed ones are unsigned ones with 2^15 more.
uint tex_plane_16_part(const in uint a, const in uint b, const in uint c, const in uint d,
    const in uvec4 weight, const in bool with_sign)
{
    uint sum = (a & 0xffffu) * weight.x + (b & 0xffffu) * weight.y + (c & 0xffffu) * weight.z +
        (d & 0xffffu) * weight.w;
    return PICK(with_sign, tex_quotient_s16(sum - 0x800000u), tex_quotient_u16(sum));
}

// Four texels of up to four components of 16 bits: their first and their second words.
uvec4 tex_plane_16(const in uvec4 first, const in uvec4 second, const in uvec4 weight,
    const in bool with_sign)
{
    uint flip = PICK(with_sign, 0x80008000u, 0u);
    uvec4 f = uvec4(first.x ^ flip, first.y ^ flip, first.z ^ flip, first.w ^ flip);
    uvec4 s = uvec4(second.x ^ flip, second.y ^ flip, second.z ^ flip, second.w ^ flip);
    return uvec4(tex_plane_16_part(f.x, f.y, f.z, f.w, weight, with_sign),
        tex_plane_16_part(f.x >> 16, f.y >> 16, f.z >> 16, f.w >> 16, weight, with_sign),
        tex_plane_16_part(s.x, s.y, s.z, s.w, weight, with_sign),
        tex_plane_16_part(s.x >> 16, s.y >> 16, s.z >> 16, s.w >> 16, weight, with_sign));
}

// The same of halves.
uvec4 tex_plane_halves(const in uvec4 first, const in uvec4 second, const in uvec4 weight)
{
    return uvec4(
        tex_plane_f16(uvec4(first.x & 0xffffu, first.y & 0xffffu, first.z & 0xffffu,
            first.w & 0xffffu), weight),
        tex_plane_f16(uvec4(first.x >> 16, first.y >> 16, first.z >> 16, first.w >> 16), weight),
        tex_plane_f16(uvec4(second.x & 0xffffu, second.y & 0xffffu, second.z & 0xffffu,
            second.w & 0xffffu), weight),
        tex_plane_f16(uvec4(second.x >> 16, second.y >> 16, second.z >> 16, second.w >> 16),
            weight));
}

// Four texels of four words each.
uvec4 tex_plane_words(const in uvec4 a, const in uvec4 b, const in uvec4 c, const in uvec4 d,
    const in uvec4 weight)
{
    return uvec4(tex_plane_f32(uvec4(a.x, b.x, c.x, d.x), weight),
        tex_plane_f32(uvec4(a.y, b.y, c.y, d.y), weight),
        tex_plane_f32(uvec4(a.z, b.z, c.z, d.z), weight),
        tex_plane_f32(uvec4(a.w, b.w, c.w, d.w), weight));
}

// The words of the texel that stands at byte `at` of 16, which a texel of `bytes` never leaves.
uvec4 tex_texel(const in uvec4 block, const in uint at, const in uint bytes)
{
    bool upper = (at & 8u) != 0u, odd = (at & 4u) != 0u;
    uint first = PICK(upper, block.z, block.x), second = PICK(upper, block.w, block.y);
    uint word = PICK(odd, second, first) >> (8u * (at & 3u));
    return PICK4(bytes == 16u, block, PICK4(bytes == 8u, uvec4(first, second, 0u, 0u),
        uvec4(word, 0u, 0u, 0u)));
}

// Components in the low bits of words as the words of a texel.
uvec4 tex_packed(const in uvec4 c, const in uint bytes)
{
    uvec4 bytes4 = uvec4((c.x & 255u) | ((c.y & 255u) << 8) | ((c.z & 255u) << 16) | (c.w << 24),
        0u, 0u, 0u);
    uvec4 halves = uvec4((c.x & 0xffffu) | (c.y << 16), (c.z & 0xffffu) | (c.w << 16), 0u, 0u);
    return PICK4(bytes == 1u, bytes4, PICK4(bytes == 2u, halves, c));
}

// f32 to the f16 of a .f16 result.
uint tex_half(const in uint value)
{
    return PICK((value & F32_NAN) > F32_INF, 0x7fffu, f16_from_f32_rn(value));
}

// NaN and denormals as 0.
uint tex_component(const in uint x)
{
    return PICK((x & F32_NAN) > F32_INF || (x & F32_INF) == 0u, 0u, x);
}

// A component of a direction, divided by the largest one's magnitude where that or its inverse is
// no normal number: the programs that the driver makes multiply by the inverse. That of a denormal
// is infinite, that of more than 2^126 is 0, and 0 times infinity is a NaN. The rest stays.
uint tex_toward(const in uint x, const in bool tiny, const in bool huge)
{
    uint magnitude = x & F32_NAN, sign = x & SIGN_BIT;
    uint endless = PICK(magnitude == 0u || magnitude > F32_INF, F32_NAN, sign | 0x3f800000u);
    uint none = PICK(magnitude >= F32_INF, F32_NAN, 0u);
    return PICK(tiny, endless, PICK(huge, none, x));
}

// What decides between components: a NaN is less than 0.
uint tex_magnitude(const in uint x)
{
    return PICK((x & F32_NAN) > F32_INF, 0u, (x & F32_NAN) + 1u);
}

// The face of a cube that direction (x, y, z) meets, and where, as normalised coordinates: z
// before y before x among equals. A NaN beside numbers counts as 0; a major axis that is 0 or a
// NaN meets the middle of its positive face.
uvec4 tex_cube(const in uint given_x, const in uint given_y, const in uint given_z)
{
    uint largest = max(max(tex_magnitude(given_x), tex_magnitude(given_y)),
        tex_magnitude(given_z));
    bool tiny = largest <= 0x800000u, huge = largest > 0x7e800001u;
    uint x = tex_toward(given_x, tiny, huge);
    uint y = tex_toward(given_y, tiny, huge);
    uint z = tex_toward(given_z, tiny, huge);
    uint ax = tex_magnitude(x), ay = tex_magnitude(y), az = tex_magnitude(z);
    bool by_z = az >= ax && az >= ay, by_y = !by_z && ay >= ax;
    uint major = PICK(by_z, z, PICK(by_y, y, x));
    uint length = major & F32_NAN;
    bool lost = length == 0u || length > F32_INF;
    bool back = (major & SIGN_BIT) != 0u && !lost;
    uint flip = PICK(back, SIGN_BIT, 0u);
    uint s = PICK(by_z, x ^ flip, PICK(by_y, x, z ^ flip ^ SIGN_BIT));
    uint t = PICK(by_y, z ^ flip, y ^ SIGN_BIT);
    uint face = PICK(by_z, 4u, PICK(by_y, 2u, 0u)) + PICK(back, 1u, 0u);
    s = PICK((s & F32_NAN) > F32_INF, 0u, s);
    t = PICK((t & F32_NAN) > F32_INF, 0u, t);
    const uint half_one = 0x3f000000u;
    uint along = f32_div_rn(s, length), down = f32_div_rn(t, length);
    along = PICK((along & F32_INF) == 0u, 0u, along);
    down = PICK((down & F32_INF) == 0u, 0u, down);
    uint u = f32_fma_rm(along, half_one, half_one);
    uint v = f32_fma_rm(down, half_one, half_one);
    return PICK4(lost, uvec4(face, half_one, half_one, 0u), uvec4(face, u, v, 0u));
}

// The texel beside a face of a seamless cube map, whose sides have n texels: its face, column and
// row. Texels of the face stay; the three faces at a corner have no fourth one, and any of theirs
// comes back for it.
uvec4 tex_seam(const in uint face, const in uint column, const in uint row, const in uint n)
{
    // Middles of texels count in halves of one, from the middle of the cube.
    int m = int(n), a = 2 * int(column) + 1 - m, b = 2 * int(row) + 1 - m;
    uint axis = face >> 1;
    int side = PICK((face & 1u) != 0u, -1, 1);
    int x = PICK(axis == 2u, a * side, PICK(axis == 1u, a, side * m));
    int y = PICK(axis == 1u, side * m, -b);
    int z = PICK(axis == 2u, side * m, PICK(axis == 1u, b * side, -a * side));
    int ax = abs(x), ay = abs(y), az = abs(z);
    bool by_z = az >= ax && az >= ay, by_y = !by_z && ay >= ax;
    int major = PICK(by_z, z, PICK(by_y, y, x));
    int flip = PICK(major < 0, -1, 1);
    int s = PICK(by_z, x * flip, PICK(by_y, x, -z * flip));
    int t = PICK(by_y, z * flip, -y);
    uint met = PICK(by_z, 4u, PICK(by_y, 2u, 0u)) + PICK(major < 0, 1u, 0u);
    return uvec4(met, uint((clamp(s, 1 - m, m - 1) + m - 1) >> 1),
        uint((clamp(t, 1 - m, m - 1) + m - 1) >> 1), 0u);
}

// The weights without texel `which`, a corner that no face has: its neighbours get a third each,
// rounded, and the texel across the rest. 4: none.
uvec4 tex_corner(const in uvec4 weights, const in uint which)
{
    uint w = PICK(which == 0u, weights.x,
        PICK(which == 1u, weights.y, PICK(which == 2u, weights.z,
            PICK(which == 3u, weights.w, 0u))));
    uint third = (w + 1u) / 3u, rest = w - 2u * third;
    return uvec4(
        PICK(which == 0u, 0u, weights.x + PICK(which == 3u, rest, third)),
        PICK(which == 1u, 0u, weights.y + PICK(which == 2u, rest, third)),
        PICK(which == 2u, 0u, weights.z + PICK(which == 1u, rest, third)),
        PICK(which == 3u, 0u, weights.w + PICK(which == 0u, rest, third)));
}

// For the device's sampler. A coordinate in texels: cut to 256ths under a linear filter, and to the
// middle of its texel without one.
float tex_cut(const in uint x, const in bool linear)
{
    float v = uintBitsToFloat(PICK(!linear && (x & F32_INF) == 0u, 0u, x));
    float parts = v * 256.0f, whole = floor(parts);
    float near = (whole + PICK(parts - whole >= 0.5f, 1.0f, 0.0f)) * 0.00390625f;
    return PICK(linear, near, floor(v) + 0.5f);
}

// The sampler cuts the quotient again (tex_precision): half of what that takes off is added.
uint tex_centred(const in float quotient, const in uint largest, const in bool linear)
{
    float half_step = PICK(largest > 16384u, 5.9604644775390625e-8f,
        PICK(largest > 8192u, 1.1920928955078125e-7f, 2.384185791015625e-7f));
    return floatBitsToUint(PICK(linear, quotient + half_step, quotient));
}

// The coordinate over the extent.
uint tex_divided(const in uint x, const in uint extent, const in uint largest, const in bool linear)
{
    return tex_centred(tex_cut(x, linear) / float(int(max(extent, 1u))), largest, linear);
}

// The same where fma is fused. What does not depend on x is made once for many reads; far outside
// the quotient need not be right.
uint tex_divided_fused(
    const in uint x, const in uint extent, const in uint largest, const in bool linear)
{
    float n = float(int(max(extent, 1u))), estimate = inversesqrt(n * n), cut = tex_cut(x, linear);
    float quotient = f32_fused_quotient(cut, n, estimate);
    return tex_centred(
        PICK(abs(cut) < 16777216.0f, quotient, cut * estimate), largest, linear);
}

uint tex_layer(const in uint layer) { return floatBitsToUint(float(int(layer))); }

// A bias in signed 256ths, taken away.
uint tex_fraction(const in uint lod) { return floatBitsToUint(float(int(lod)) * 0.00390625f); }

// The quotient alone.
uint tex_over_extent(const in uint x, const in uint extent)
{
    return floatBitsToUint(uintBitsToFloat(x) / float(int(max(extent, 1u))));
}

// A component beside a longer one of magnitude `length`, which is no small number: a denormal is 0
// where the quotient is one, else the least number with its sign.
uint tex_beside_longer(const in uint x, const in uint length)
{
    uint magnitude = x & F32_NAN;
    bool counts = float(int(magnitude)) >= uintBitsToFloat(length) * 8388608.0f;
    uint least = PICK(counts && magnitude != 0u, (x & SIGN_BIT) | 0x800000u, 0u);
    return PICK(magnitude > F32_INF, 0u, PICK(magnitude < 0x800000u, least, x));
}

// A direction that meets the cube where (x, y, z) does by tex_cube, and has no denormals or NaN,
// nor components so far from 1, which samplers take otherwise. Ordinary directions stay.
uvec4 tex_cube_direction(const in uint given_x, const in uint given_y, const in uint given_z)
{
    uint largest = max(max(tex_magnitude(given_x), tex_magnitude(given_y)),
        tex_magnitude(given_z));
    bool tiny = largest <= 0x800000u, huge = largest > 0x7e800001u;
    uint x = tex_toward(given_x, tiny, huge);
    uint y = tex_toward(given_y, tiny, huge);
    uint z = tex_toward(given_z, tiny, huge);
    uint ax = tex_magnitude(x), ay = tex_magnitude(y), az = tex_magnitude(z);
    bool by_z = az >= ax && az >= ay, by_y = !by_z && ay >= ax, by_x = !by_z && !by_y;
    uint length = PICK(by_z, z, PICK(by_y, y, x)) & F32_NAN;
    bool lost = length == 0u || length > F32_INF;
    // Small numbers, denormals among them, in units of 2^-149.
    bool small = length < 0x0d000000u;
    uint big_x = floatBitsToUint(f32_small_units(x, x & F32_NAN));
    uint big_y = floatBitsToUint(f32_small_units(y, y & F32_NAN));
    uint big_z = floatBitsToUint(f32_small_units(z, z & F32_NAN));
    x = PICK(small, PICK((x & F32_NAN) > F32_INF, 0u, big_x), tex_beside_longer(x, length));
    y = PICK(small, PICK((y & F32_NAN) > F32_INF, 0u, big_y), tex_beside_longer(y, length));
    z = PICK(small, PICK((z & F32_NAN) > F32_INF, 0u, big_z), tex_beside_longer(z, length));
    const uint one = 0x3f800000u;
    return PICK4(lost, uvec4(PICK(by_x, one, 0u), PICK(by_y, one, 0u), PICK(by_z, one, 0u), 0u),
        uvec4(x, y, z, 0u));
}

// 1 where that changes nothing: all components are normal numbers, neither small nor huge together.
// The bounds are normal, so that it does not matter whether a device flushes denormals.
uint tex_cube_ordinary(const in uint x, const in uint y, const in uint z)
{
    float a = uintBitsToFloat(x & F32_NAN), b = uintBitsToFloat(y & F32_NAN);
    float c = uintBitsToFloat(z & F32_NAN), sum = a + b + c, least = min(a, min(b, c));
    // 2^-126, 2^-99 and 2^126
    bool some = least >= 1.17549435e-38f && sum >= 1.57772181e-30f;
    return PICK(some && sum <= 8.50705917e+37f, 1u, 0u);
}
