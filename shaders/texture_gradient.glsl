// Levels of detail out of gradients, and the samples of anisotropic reads. hardware.md has the
// rules in words.

// ---- Gradients: lengths in texels as floats of ten significant bits, the rest cut off.

float tex_cut(const in float x)
{
    return uintBitsToFloat(floatBitsToUint(x) & 0xffffc000u);
}

// What a multiplier of ten bits loses without the columns below 2^-12, of a product of 2^-18.
uint tex_lost(const in uint a, const in uint b)
{
    return (b & 1u) * (a & 63u) + (b & 2u) * (a & 31u) + (b & 4u) * (a & 15u) +
        (b & 8u) * (a & 7u) + (b & 16u) * (a & 3u) + (b & 32u) * (a & 1u);
}

// The ten bits of a float.
uint tex_bits(const in uint x) { return ((x >> 14) & 511u) | 512u; }

// The product of two floats of ten bits, of which y is not negative: 7 x 2^-12 stands for what it
// loses.
float tex_rough(const in float x, const in float y)
{
    uint u = floatBitsToUint(x), v = floatBitsToUint(y);
    uint a = tex_bits(u), b = tex_bits(v);
    uint p = a * b + 448u - tex_lost(a, b);
    float scaled = tex_cut(uintBitsToFloat(0x4b000000u | p) - 8388608.0f);
    float powers = uintBitsToFloat(v & F32_INF) * 3.814697265625e-6f;
    return scaled * powers * uintBitsToFloat(u & (SIGN_BIT | F32_INF));
}

// What is beyond all levels comes back as a power of two, or as 0.
float tex_within(const in float x)
{
    float most = uintBitsToFloat(227u << 23);
    uint magnitude = floatBitsToUint(min(abs(x), most));
    uint sign = floatBitsToUint(x) & SIGN_BIT;
    return uintBitsToFloat(PICK(magnitude < (27u << 23), 0u, magnitude | sign));
}

float tex_times(const in float a, const in float b)
{
    float side = PICK(b < 0.0f, -1.0f, 1.0f);
    bool counts = floatBitsToUint(abs(a)) - 0x800000u <= 0x7f000000u &&
        floatBitsToUint(abs(b)) - 0x800000u <= 0x7f000000u;
    return PICK(counts, tex_within(side * tex_rough(a, abs(b))), 0.0f);
}

// The product of a component and an extent. A NaN counts as 0.
uint tex_texels(const in uint x, const in float product)
{
    return PICK((x & F32_NAN) > F32_INF, 0u, floatBitsToUint(tex_within(product)));
}

// A component of a gradient in texels.
uint tex_gradient(const in uint x, const in uint extent)
{
    return tex_texels(x, tex_rough(uintBitsToFloat(x), float(int(max(extent, 1u)))));
}

// Both gradients of a plane: the first one's components, then the other one's.
uvec4 tex_gradients(const in uvec4 moves, const in uint width, const in uint height)
{
    float w = tex_cut(float(int(max(width, 1u)))), h = tex_cut(float(int(max(height, 1u))));
    float ax = uintBitsToFloat(moves.x), ay = uintBitsToFloat(moves.y);
    float bx = uintBitsToFloat(moves.z), by = uintBitsToFloat(moves.w);
    float au = tex_cut(ax) * w, av = tex_cut(ay) * h, bu = tex_cut(bx) * w, bv = tex_cut(by) * h;
    // Powers of two lose nothing.
    if (((floatBitsToUint(w) | floatBitsToUint(h)) & 0x7fffffu) != 0u)
    {
        au = tex_rough(ax, w);
        av = tex_rough(ay, h);
        bu = tex_rough(bx, w);
        bv = tex_rough(by, h);
    }
    return uvec4(tex_texels(moves.x, au), tex_texels(moves.y, av), tex_texels(moves.z, bu),
        tex_texels(moves.w, bv));
}

// The same of a volume, where the hardware takes the difference of two coordinates: that of the
// point and its sum with the gradient, as floats. A NaN and denormals count as 0 in both. From an
// infinite coordinate everything is endlessly far.
uint tex_gradient_volume(const in uint x, const in uint moves, const in uint extent)
{
    float sum = uintBitsToFloat(x) + uintBitsToFloat(moves);
    uint from = tex_component(x), to = tex_component(floatBitsToUint(sum));
    uint difference = f32_add_rz(to, from ^ SIGN_BIT);
    return tex_gradient(PICK((x & F32_NAN) == F32_INF, F32_INF, difference), extent);
}

// What is left of a summand beside one that is no less: ten bits of that one and another.
float tex_beside(const in float least, const in float most)
{
    uint v = floatBitsToUint(least);
    uint drop = ((floatBitsToUint(most) & F32_INF) - (v & F32_INF)) >> 23;
    return uintBitsToFloat(PICK(drop > 10u, 0u, v & (0xffffe000u << (drop & 31u))));
}

float tex_plus(const in float a, const in float b)
{
    bool swapped = abs(b) > abs(a);
    float most = PICK(swapped, b, a);
    return tex_cut(most + tex_beside(PICK(swapped, a, b), most));
}

// A multiple of a length, which 1/4 of a unit of its eighth bit joins.
float tex_multiple(const in float x, const in float times)
{
    float unit = uintBitsToFloat(floatBitsToUint(x) & F32_INF) * 0.0009765625f;
    return tex_cut(x * times + unit);
}

// A vector's length, about: the larger component and 11/32 of the other.
float tex_length(const in float x, const in float y)
{
    float most = max(abs(x), abs(y)), least = min(abs(x), abs(y));
    return tex_cut(most + tex_beside(0.25f * tex_multiple(least, 1.375f), most));
}

// 11/16 of the length of a sum of two vectors, by products of its own: 11/16 and 121/512.
float tex_length_sum(const in float x, const in float y)
{
    float most = 0.5f * tex_multiple(max(abs(x), abs(y)), 1.375f);
    float least = 0.125f * tex_multiple(min(abs(x), abs(y)), 1.890625f);
    return tex_cut(most + tex_beside(least, most));
}

// The same in volumes: 1/4 of the least component, of a sum 11/64, joins the middle one.
float tex_most(const in float x, const in float y, const in float z)
{
    return max(max(abs(x), abs(y)), abs(z));
}

float tex_middle(const in float x, const in float y, const in float z)
{
    float a = abs(x), b = abs(y);
    return max(min(a, b), min(max(a, b), abs(z)));
}

float tex_least(const in float x, const in float y, const in float z)
{
    return min(min(abs(x), abs(y)), abs(z));
}

float tex_length_volume(const in float x, const in float y, const in float z)
{
    float lesser = tex_plus(tex_multiple(tex_middle(x, y, z), 1.375f), tex_least(x, y, z));
    return tex_plus(tex_most(x, y, z), 0.25f * lesser);
}

float tex_length_sum_volume(const in float x, const in float y, const in float z)
{
    float lesser = tex_plus(tex_multiple(tex_middle(x, y, z), 1.890625f),
        tex_multiple(tex_least(x, y, z), 1.375f));
    return tex_plus(0.5f * tex_multiple(tex_most(x, y, z), 1.375f), 0.125f * lesser);
}

// How far it is over an edge, in texels: from the point to the edge and beyond, both halved.
float tex_over_edge(const in float to, const in float from, const in float left,
    const in uint extent, const in bool across)
{
    float side = PICK(to < 0.0f, -1.0f, 1.0f), half_face = 0.5f * float(int(extent));
    float near = tex_times(tex_cut(1.0f - from * side), half_face);
    // On the face across everything is infinitely far.
    float beyond = PICK(across, 1e30f, tex_plus(near, tex_times(tex_cut(1.0f - left), half_face)));
    return beyond * side;
}

// What a gradient of a direction counts for on a cube map's face, in texels: how far the direction
// with it added falls from the direction. Over an edge the way goes on on the face beyond; the
// fourth word says that it does.
uvec4 tex_gradient_cube(const in uvec4 at, const in uvec4 moves, const in uint extent)
{
    float x = uintBitsToFloat(tex_component(at.x));
    float dx = uintBitsToFloat(tex_component(moves.x));
    float y = uintBitsToFloat(tex_component(at.y));
    float dy = uintBitsToFloat(tex_component(moves.y));
    float z = uintBitsToFloat(tex_component(at.z));
    float dz = uintBitsToFloat(tex_component(moves.z));
    bool by_z = abs(z) >= abs(x) && abs(z) >= abs(y), by_y = !by_z && abs(y) >= abs(x);
    float major = PICK(by_z, z, PICK(by_y, y, x));
    float side = PICK(major < 0.0f, -1.0f, 1.0f);
    float s = PICK(by_z, x * side, PICK(by_y, x, -z * side)), t = PICK(by_y, z * side, -y);
    float ds = PICK(by_z, dx * side, PICK(by_y, dx, -dz * side));
    float dt = PICK(by_y, dz * side, -dy);
    float moved = abs(major) + side * PICK(by_z, dz, PICK(by_y, dy, dx));
    float to_s = s + ds, to_t = t + dt, most = max(abs(to_s), abs(to_t));
    uint from = floatBitsToUint(abs(major)), to = floatBitsToUint(max(moved, most));
    float u = uintBitsToFloat(f32_div_rn(floatBitsToUint(to_s), to));
    float v = uintBitsToFloat(f32_div_rn(floatBitsToUint(to_t), to));
    float left = uintBitsToFloat(f32_div_rn(floatBitsToUint(moved), to));
    float from_u = uintBitsToFloat(f32_div_rn(floatBitsToUint(s), from));
    float from_v = uintBitsToFloat(f32_div_rn(floatBitsToUint(t), from));
    bool over = moved < most, over_v = over && abs(to_t) >= abs(to_s), across = -moved >= most;
    bool infinite = (floatBitsToUint(max(most, abs(moved))) & F32_NAN) >= F32_INF;
    u = PICK(infinite, 1e30f, u);
    float half_face = 0.5f * float(int(extent));
    float by_u = PICK(over && !over_v && !infinite, tex_over_edge(u, from_u, left, extent, across),
        tex_times(u - from_u, half_face));
    float by_v = PICK(over_v && !infinite, tex_over_edge(v, from_v, left, extent, across),
        tex_times(v - from_v, half_face));
    // From a direction without length everything is endlessly far.
    by_u = PICK(from == 0u, 1e30f, by_u);
    return uvec4(tex_gradient(floatBitsToUint(by_u), 1u), tex_gradient(floatBitsToUint(by_v), 1u),
        0u, PICK(over, 1u, 0u));
}

// 256 log2 of a float of 8 bits of mantissa, rounded, at 0.469 of what those stand for; the ends
// keep 0 and 255. None is nearer to a tie than 1/750, far more than log2 errs.
int tex_log2(const in uint x)
{
    uint m = x & 0x7f8000u;
    float fraction = log2(uintBitsToFloat(0x3f803c08u | m)) * 256.0f + 0.5f;
    return (int(x >> 23) - 127) * 256 + PICK(m == 0u, 0, min(int(fraction), 255));
}

// The longest of the four vectors that matter of two gradients: both, and their sum and difference
// times 11/16. Over the edges of a cube map's faces only the two do.
float tex_longest(const in uvec4 dx, const in uvec4 dy)
{
    float ax = uintBitsToFloat(dx.x), ay = uintBitsToFloat(dx.y);
    float bx = uintBitsToFloat(dy.x), by = uintBitsToFloat(dy.y);
    float both = max(tex_length(ax, ay), tex_length(bx, by));
    // One of sum and difference has the sum of an axis' magnitudes, the other their difference.
    float most_x = max(abs(ax), abs(bx)), most_y = max(abs(ay), abs(by));
    float least_x = tex_beside(min(abs(ax), abs(bx)), most_x);
    float least_y = tex_beside(min(abs(ay), abs(by)), most_y);
    float far_y = tex_cut(most_y + least_y), near_y = tex_cut(most_y - least_y);
    bool crossed = ((dx.x ^ dy.x ^ dx.y ^ dy.y) & SIGN_BIT) != 0u;
    float far = tex_length_sum(tex_cut(most_x + least_x), PICK(crossed, near_y, far_y));
    float near = tex_length_sum(tex_cut(most_x - least_x), PICK(crossed, far_y, near_y));
    return PICK((dx.w | dy.w) != 0u, both, max(max(both, far), near));
}

float tex_longest_volume(const in uvec4 dx, const in uvec4 dy)
{
    float ax = uintBitsToFloat(dx.x), ay = uintBitsToFloat(dx.y), az = uintBitsToFloat(dx.z);
    float bx = uintBitsToFloat(dy.x), by = uintBitsToFloat(dy.y), bz = uintBitsToFloat(dy.z);
    float far = tex_length_sum_volume(tex_plus(ax, bx), tex_plus(ay, by), tex_plus(az, bz));
    float near = tex_length_sum_volume(tex_plus(ax, -bx), tex_plus(ay, -by), tex_plus(az, -bz));
    return max(max(tex_length_volume(ax, ay, az), tex_length_volume(bx, by, bz)), max(far, near));
}

// The level of detail of two gradients.
uint tex_lod_gradient(const in uvec4 dx, const in uvec4 dy)
{
    return uint(clamp(tex_log2(floatBitsToUint(tex_longest(dx, dy))), -0x8000, 0x8000));
}

uint tex_lod_volume(const in uvec4 dx, const in uvec4 dy)
{
    return uint(clamp(tex_log2(floatBitsToUint(tex_longest_volume(dx, dy))), -0x8000, 0x8000));
}

// ---- Anisotropy: several samples along the longest vector.

// The direction of the longest vector, in 64ths.
uvec4 tex_direction(const in uvec4 dx, const in uvec4 dy)
{
    float ax = uintBitsToFloat(dx.x), ay = uintBitsToFloat(dx.y);
    float bx = uintBitsToFloat(dy.x), by = uintBitsToFloat(dy.y);
    float most = tex_length(ax, ay), other = tex_length(bx, by);
    float plus = tex_length_sum(tex_plus(ax, bx), tex_plus(ay, by));
    float minus = tex_length_sum(tex_plus(ax, -bx), tex_plus(ay, -by));
    // Of equals the first gradient counts, then the sum, then the second gradient.
    bool edge = (dx.w | dy.w) != 0u, second = other > most;
    bool sum = !edge && plus > most && plus >= max(other, minus);
    bool difference = !edge && minus > max(max(most, other), plus);
    float x = PICK(second, bx, ax), y = PICK(second, by, ay);
    // A difference is that of the longer one and the shorter one, of equals the second and the
    // first.
    float turn = PICK(other >= most, -1.0f, 1.0f);
    x = PICK(difference, turn * tex_plus(ax, -bx), PICK(sum, tex_plus(ax, bx), x));
    y = PICK(difference, turn * tex_plus(ay, -by), PICK(sum, tex_plus(ay, by), y));
    float x_part = PICK(sum || difference, 0.5f * tex_multiple(abs(x), 1.375f), abs(x));
    float y_part = PICK(sum || difference, 0.5f * tex_multiple(abs(y), 1.375f), abs(y));
    float longer = max(x_part, y_part), shorter = min(x_part, y_part);
    // Both count eighths of the longer component's power of two, and stand for the middle of one;
    // what is below a quarter of an eighth is none.
    float unit = uintBitsToFloat(floatBitsToUint(longer) & F32_INF) * 0.125f;
    float scale = 1.0f / max(unit, 1e-30f);
    float a = floor(longer * scale) + 0.5f, b = floor(shorter * scale) + 0.5f;
    b = PICK(shorter * scale < 0.25f, 0.0f, b);
    float by_length = 64.0f / sqrt(a * a + b * b);
    int most_part = int(floor(a * by_length + 0.5f)), least_part = int(floor(b * by_length + 0.5f));
    bool steep = y_part > x_part;
    int part_x = PICK(steep, least_part, most_part), part_y = PICK(steep, most_part, least_part);
    return uvec4(uint(PICK(x < 0.0f, -part_x, part_x)), uint(PICK(y < 0.0f, -part_y, part_y)), 0u,
        0u);
}

// The logarithm of the most samples, by their code: 1, 2, 4, 6, 8, 10, 12, 16.
int tex_most_samples(const in uint code)
{
    int odd = PICK(code == 3u, 656, PICK(code == 5u, 848, 912));
    int even = PICK(code < 3u, int(code), PICK(code == 4u, 3, 4)) * 256;
    return PICK(code == 3u || code == 5u || code == 6u, odd, even);
}

// A level with its bias; `how` as below. Where samples are fewer than 8 and parts of levels are
// stretched, a bias that would itself be stretched to more than 0 counts 1/256 less.
int tex_biased(const in int lod, const in int bias, const in uint how)
{
    uint most = how & 15u;
    return lod + bias - PICK(most >= 1u && most <= 3u && bias >= PICK(most == 1u, 43, 55), 1, 0);
}

// A level whose part in the next one is stretched about its middle.
int tex_stretch(const in int lod, const in uint how)
{
    int part = lod & 255, most = tex_most_samples(how & 7u);
    int stretched = PICK(most == 256, ((3 * part) >> 1) - 63,
        PICK(most < 768, ((7 * part + 2) >> 2) - 95, 2 * part - 128));
    bool stretches = (how & 24u) == 16u && (how & 7u) != 0u;
    return PICK(stretches, (lod & ~255) + clamp(stretched, 0, 256), lod);
}

// The level of reads of one sample.
uint tex_stretched(const in uint lod, const in uint bias, const in uint how)
{
    return uint(tex_stretch(tex_biased(int(lod), int(bias), how), how));
}

// The level that the shorter extent of the footprint chooses: its area over the longest vector,
// which exceeds it as many times as there are samples at most. Returns the level, the 256ths of
// the next one, and the logarithms of the ratios in both. `how` has bit 3 where levels are mixed
// as they fall and bit 4 where two are mixed.
uvec4 tex_footprint(const in uvec4 dx, const in uvec4 dy, const in uvec4 bounds, const in uint how)
{
    float ax = uintBitsToFloat(dx.x), ay = uintBitsToFloat(dx.y);
    float bx = uintBitsToFloat(dy.x), by = uintBitsToFloat(dy.y);
    float area = abs(tex_plus(tex_times(ax, by), -tex_times(ay, bx)));
    int longer = tex_log2(floatBitsToUint(tex_longest(dx, dy)));
    int most = tex_most_samples(how & 7u);
    int within = clamp(tex_log2(floatBitsToUint(area)) - longer, longer - most, longer);
    // Over the edges of a cube map's faces there is one sample.
    int shorter = PICK((dx.w | dy.w) != 0u, longer, within);
    // Neither bias nor bounds matter to the ratio, in texels of level 0.
    int ratio = clamp(longer - max(shorter, 0), 0, most);
    int low = int(bounds.y), high = int(bounds.z);
    // Without the full mix, the part of the next level is stretched about its middle.
    bool mixed = (how & 16u) != 0u;
    int lod = tex_stretch(tex_biased(shorter, int(bounds.x), how), how);
    lod = max(min(lod, high), low);
    uint level = uint(lod) >> 8, part = uint(lod) & 255u;
    int beyond = max(ratio + int(part) - 256, 0);
    uvec4 nearest = uvec4(PICK(part >= 128u, level + 1u, level), 0u, uint(ratio), 0u);
    return PICK4(mixed, uvec4(level, part, uint(ratio), uint(beyond)), nearest);
}

// 256 times 2 to the minus `fraction` 256ths, rounded. None of them is nearer to a tie than 1/256,
// far more than exp2 errs.
uint tex_inverse(const in uint fraction)
{
    return uint(int(floor(exp2(-float(int(fraction)) * 0.00390625f) * 256.0f + 0.5f)));
}

// The samples of one level by the logarithm of the ratio: how many, what one weighs, the unit of
// weights, and how far the samples of a pair are apart, in 256ths of the distance.
uvec4 tex_samples(const in uint logarithm)
{
    // The last inverse of an octave is one half, the first of the next.
    uint ratio = PICK((logarithm & 255u) == 255u, logarithm + 1u, logarithm);
    uint inverse = tex_inverse(ratio & 255u), octave = ratio >> 8;
    uint unit = PICK(ratio == 0u, 256u, PICK(octave < 2u, 512u, 1024u));
    uint weight = PICK(octave == 0u, inverse * (unit >> 8),
        inverse >> PICK(octave < 3u, 0u, octave - 2u));
    uint pairs = (unit + 2u * weight - 1u) / (2u * weight);
    uint count = PICK(ratio == 0u, 1u, 2u * pairs);
    uint apart = PICK(octave == 0u, 256u - inverse, 128u);
    return uvec4(count, weight, unit, apart);
}

// Samples are `distance` 64ths of a texel apart where a level's part in the next is `share`.
uint tex_distance(const in uint share)
{
    return tex_inverse(256u - share) >> 1;
}

// How far sample j lies from the point along an axis, in 128ths of a texel, where the direction has
// `part` 64ths of that axis; sample 0 is the foremost. Shifts round down, of negative parts too.
uint tex_sample_place(const in uvec4 samples, const in uint distance, const in uint part,
    const in uint j)
{
    int along = int(part), apart = int(distance);
    int pair = (((along * int(samples.w) + 64) >> 7) * apart) >> 6;
    int steps = int(samples.x) - 1 - 2 * int(j);
    return uint(PICK(samples.x == 2u, PICK(j == 0u, pair, -pair), steps * ((apart * along) >> 6)));
}

// What the samples before j weigh together, of `total` 256ths: the outermost two share the rest.
uint tex_weight_before(const in uvec4 samples, const in uint total, const in uint j)
{
    uint inner = 2u * samples.y * total, all = 2u * samples.z * total;
    uint outer = (samples.z - (samples.x - min(samples.x, 2u)) * samples.y) * total;
    uint sum = PICK(j == 0u, 0u, PICK(j >= samples.x, all, outer + (j - 1u) * inner));
    return (sum + 255u) >> 9;
}

uint tex_sample_weight(const in uvec4 samples, const in uint total, const in uint j)
{
    return tex_weight_before(samples, total, j + 1u) - tex_weight_before(samples, total, j);
}

// A coordinate moved by so many 128ths of a texel, after it is cut to the bits that a level of this
// largest extent keeps.
uint tex_moved(const in uint x, const in uint by, const in uint extent, const in uint largest,
    const in bool one)
{
    uint bits = tex_precision(largest, one);
    float from = floor(uintBitsToFloat(tex_component(x)) * uintBitsToFloat((127u + bits) << 23));
    float texels = float(int(by)) * 0.0078125f;
    uint parts = f32_div_rn(floatBitsToUint(texels), floatBitsToUint(float(max(extent, 1u))));
    return floatBitsToUint(from * uintBitsToFloat((127u - bits) << 23) + uintBitsToFloat(parts));
}

// A sum of texels, whose weights count 1024ths, with room below for what alignment moves there.
uvec4 tex_raised(const in uvec4 sum)
{
    return uvec4(sum.x << 6, (sum.y << 6) | (sum.x >> 26), sum.z, sum.w);
}

// A raised sum aligned to exponent `top`.
uvec2 tex_lowered(const in uvec4 sum, const in uint top)
{
    uint down = min(top - min(sum.z, top), 63u);
    uint by = down & 31u;
    uint low = PICK(by == 0u, sum.x, (sum.x >> by) | (sum.y << (32u - max(by, 1u))));
    uint high = uint(int(sum.y) >> by), fill = uint(int(sum.y) >> 31);
    bool far = down > 31u;
    return uvec2(PICK(far, high, low), PICK(far, fill, high));
}

uvec4 tex_gathered(const in uvec4 a, const in uvec4 b)
{
    uint top = max(a.z, b.z);
    uvec2 total = tex_add(tex_lowered(a, top), tex_lowered(b, top));
    return uvec4(total.x, total.y, top, a.w | b.w);
}

// The component out of the sums of all samples.
uint tex_filtered_samples(const in uvec4 sums, const in uint format)
{
    return tex_round(uvec2(sums.x, sums.y), sums.z - 7u, sums.w, format);
}
