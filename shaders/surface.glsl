// Conversions of formatted surface stores (sust.p), bit for bit as the hardware does them over all
// 2^32 inputs; docs/reference/hardware.md has the rules in words, tests/data/hardware the records.

// f32 to f16, toward zero: finite overflow gives the largest finite value, denormals are truncated.
uint sust_p_f16(const in uint u)
{
    uint e = (u >> 23) & 255u;
    uint m = u & 0x7fffffu;
    uint s = (u >> 16) & 0x8000u;
    uint special = 0x7c00u | PICK(m != 0u, max(m >> 13, 1u), 0u);
    int E = int(e) - 112;
    uint denormal = (m | 0x800000u) >> uint(clamp(14 - E, 0, 31));
    uint normal = (uint(E) << 10) | (m >> 13);
    uint finite = PICK(E >= 31, 0x7bffu, PICK(E <= 0, denormal, normal));
    return s | PICK(e == 255u, special, finite);
}

// |x| in units of 2^-(b+4), truncated; 1 and more as 1, NaN as 0. The product is by a power of
// two, so exact.
uint sust_p_scaled(const in uint magnitude, const in uint b)
{
    uint one = 1u << (b + 4u);
    uint scaled = uint(uintBitsToFloat(min(magnitude, 0x3f800000u)) * float(one));
    return PICK(magnitude > 0x7f800000u, 0u, scaled);
}

uint sust_p_unorm(const in uint u, const in uint b)
{
    uint x = sust_p_scaled(u & 0x7fffffffu, b);
    uint r = (x - (x >> b) + 7u) >> 4;
    return PICK((u >> 31) != 0u, 0u, r);
}

// b is 7 or 15: the sign is put back in two's complement.
uint sust_p_snorm(const in uint u, const in uint b)
{
    uint x = sust_p_scaled(u & 0x7fffffffu, b);
    uint r = (x - (x >> b) + 7u) >> 4;
    return PICK((u >> 31) != 0u, 0u - r, r) & ((2u << b) - 1u);
}

// One component in the record's format (abi::SurfaceFormat).
uint sust_p_component(const in uint format, const in uint u)
{
    uint r = u;
    r = PICK(format == 0u, min(u, 0xffu), r);
    r = PICK(format == 1u, min(u, 0xffffu), r);
    r = PICK(format == 3u, uint(clamp(int(u), -128, 127)) & 0xffu, r);
    r = PICK(format == 4u, uint(clamp(int(u), -32768, 32767)) & 0xffffu, r);
    r = PICK(format == 6u, sust_p_f16(u), r);
    uint norm = PICK((format & 1u) == 0u, 8u, 16u);
    bool unorm = format == 8u || format == 9u;
    r = PICK(unorm, sust_p_unorm(u, norm), r);
    r = PICK(format >= 10u, sust_p_snorm(u, norm - 1u), r);
    return r;
}

// A whole texel of 1, 2 or 4 channels, as the words of memory that it fills; unused bits are 0.
uvec4 sust_p_texel(const in uint format, const in uint channels, const in uvec4 source)
{
    uint a = sust_p_component(format, source.x);
    uint b = PICK(channels > 1u, sust_p_component(format, source.y), 0u);
    uint c = PICK(channels > 2u, sust_p_component(format, source.z), 0u);
    uint d = PICK(channels > 2u, sust_p_component(format, source.w), 0u);
    uint bit = 1u << format;
    bool word = (bit & 0xa4u) != 0u;   // 32-bit formats: 2, 5, 7
    bool byte = (bit & 0x509u) != 0u;  // 8-bit formats: 0, 3, 8, 10
    uvec4 halves = uvec4(a | (b << 16), c | (d << 16), 0u, 0u);
    uvec4 bytes = uvec4(a | (b << 8) | (c << 16) | (d << 24), 0u, 0u, 0u);
    uvec4 narrow = uvec4(PICK(byte, bytes.x, halves.x), PICK(byte, 0u, halves.y), 0u, 0u);
    return PICK4(word, uvec4(a, b, c, d), narrow);
}
