// Texture reads as the hardware does them: coordinates in fixed point, weights of 8 bits, sums
// of texels aligned to the largest. docs/hardware.md has the rules in words, tests/data/hardware
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
    int near = clamp((tex_fixed(x, 9u) + 1) >> 1, -0x10000000, 0x10000000) - 128;
    return uint(PICK(linear, near, clamp(tex_fixed(x, 0u), -0x100000, 0x100000) * 256));
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

// Digits of n / (2^8 - 1) or n / (2^16 - 1), which repeat n's, rounded to nearest as a float.
// `zeros` stand above the first of them.
uint tex_repeating(const in uint digits, const in uint zeros)
{
    uint top = (digits << zeros) | (digits >> 1 >> (31u - zeros));
    return ((126u - zeros) << 23) + ((top >> 8) - 0x800000u) + ((top >> 7) & 1u);
}

uint tex_unorm8(const in uint n)
{
    uint zeros = 134u - (floatBitsToUint(float(int(n))) >> 23);
    return PICK(n == 0u, 0u, tex_repeating(n * 0x1010101u, zeros & 31u));
}

uint tex_unorm16(const in uint n)
{
    uint zeros = 142u - (floatBitsToUint(float(int(n))) >> 23);
    return PICK(n == 0u, 0u, tex_repeating(n * 0x10001u, zeros & 31u));
}

// n / (2^bits - 1) of signed n: 7 or 15 bits. Where they leave room in a word, the digits go on.
uint tex_snorm(const in uint word, const in uint bits)
{
    int limit = int((1u << bits) - 1u), signed_n = int(word);
    uint n = uint(min(abs(signed_n), limit));
    uint zeros = PICK(n == 0u, 0u, bits - 1u - uint(findMSB(n)));
    uint digits = ((n << zeros) | (n >> (bits - zeros))) & uint(limit);
    uint twice = PICK(bits == 7u, (digits << 7) | digits, digits);
    uint width = PICK(bits == 7u, 14u, 15u);
    uint top = (twice << (32u - width)) | (twice << (32u - width) >> width);
    top |= PICK(bits == 7u, digits >> 3, digits >> 13);
    uint r = ((126u - zeros) << 23) + ((top >> 8) - 0x800000u) + ((top >> 7) & 1u);
    return PICK(n == 0u, 0u, r) | PICK(signed_n < 0, SIGN_BIT, 0u);
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

// A half float that is not filtered: a NaN keeps its payload.
uint tex_point_f16(const in uint raw)
{
    uint nan = ((raw & 0x8000u) << 16) | F32_INF | ((raw & 0x3ffu) << 13);
    return PICK((raw & 0x7fffu) > 0x7c00u, nan, f32_from_f16(raw));
}

// A float component for the sum: f16 becomes f32, denormals of f32 are zeros.
uint tex_float(const in uint raw, const in uint format)
{
    uint single = PICK((raw & F32_INF) == 0u, raw & SIGN_BIT, raw);
    return PICK(format == TEX_F16, f32_from_f16(raw), single);
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
    uint a = tex_float(raw.x, format), b = tex_float(raw.y, format);
    uint c = tex_float(raw.z, format), d = tex_float(raw.w, format);
    uint top = max(max(tex_exponent(a, weight.x), tex_exponent(b, weight.y)),
                   max(tex_exponent(c, weight.z), tex_exponent(d, weight.w)));
    top = PICK(format == TEX_F16 && top != 0u, max(top, 113u), top);
    uint mask = PICK(format == TEX_F16, 0xffffe000u, 0xffffffffu);
    int va = tex_aligned(a, top, mask);
    int vb = tex_aligned(b, top, mask);
    int vc = tex_aligned(c, top, mask);
    int vd = tex_aligned(d, top, mask);
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
    return uvec4(low, uint(upper >> 18) + carry, top, special);
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

// The filtered component out of two sums: planes, or levels, or one sum and zeros.
uint tex_filtered(const in uvec4 near, const in uvec4 far, const in uint format)
{
    uint top = max(near.z, far.z);
    uvec2 total = tex_add(tex_place(near, top), tex_place(far, top));
    return tex_round(total, top, near.w | far.w, format);
}

// The same out of the planes of two levels.
uint tex_filtered_all(const in uvec4 a, const in uvec4 b, const in uvec4 c, const in uvec4 d,
    const in uint format)
{
    uint top = max(max(a.z, b.z), max(c.z, d.z));
    uvec2 total = tex_add(tex_add(tex_place(a, top), tex_place(b, top)),
        tex_add(tex_place(c, top), tex_place(d, top)));
    return tex_round(total, top, (a.w | b.w) | (c.w | d.w), format);
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
