// What all arithmetic routines share. arithmetic.md lists the routines with their cost.
//
// Values are bits: uint holds f32, f16 and bf16 (the 16-bit ones zero-extended), uvec2 holds
// 64-bit integers and f64 with the low word in x. The routines are free of branches, but for one
// whose name ends in _fused, which only GPUs take, and use nothing but 32-bit operations that every
// Vulkan device has. The same text compiles as C++
// (tests/shaders/glsl.hpp), which is how it is compared with the CPU; so it keeps to what both
// languages mean alike, and no shift reaches the width.

// A select, always: GLSL's ?: would become a branch where its operands are expressions.
#define PICK(condition, yes, no) mix(no, yes, condition)
#define PICK2(condition, yes, no) mix(no, yes, bvec2(condition))
#define PICK4(condition, yes, no) mix(no, yes, bvec4(condition))

#define ROUND_RN 0u
#define ROUND_RZ 1u
#define ROUND_RM 2u
#define ROUND_RP 3u
// Toward zero, with the last bit set when inexact: a result that can be rounded once more, to two
// or more bits less, as if it had been exact (Boldo and Melquiond).
#define ROUND_ODD 4u

// Routines by their PTX names, of one, two or three operands, that are NAME_mode with the rounding
// that they are named for: DIRECTED_ toward zero, down and up, ROUNDED_ all four, INTEGRAL_ those
// to integers.
#define DIRECTED_1(R, name, A) \
    R name##_rz(const in A a) { return name##_mode(a, ROUND_RZ); } \
    R name##_rm(const in A a) { return name##_mode(a, ROUND_RM); } \
    R name##_rp(const in A a) { return name##_mode(a, ROUND_RP); }
#define DIRECTED_2(R, name, A) \
    R name##_rz(const in A a, const in A b) { return name##_mode(a, b, ROUND_RZ); } \
    R name##_rm(const in A a, const in A b) { return name##_mode(a, b, ROUND_RM); } \
    R name##_rp(const in A a, const in A b) { return name##_mode(a, b, ROUND_RP); }
#define DIRECTED_3(R, name, A) \
    R name##_rz(const in A a, const in A b, const in A c) \
    { return name##_mode(a, b, c, ROUND_RZ); } \
    R name##_rm(const in A a, const in A b, const in A c) \
    { return name##_mode(a, b, c, ROUND_RM); } \
    R name##_rp(const in A a, const in A b, const in A c) \
    { return name##_mode(a, b, c, ROUND_RP); }
#define ROUNDED_1(R, name, A) \
    R name##_rn(const in A a) { return name##_mode(a, ROUND_RN); } \
    DIRECTED_1(R, name, A)
#define ROUNDED_2(R, name, A) \
    R name##_rn(const in A a, const in A b) { return name##_mode(a, b, ROUND_RN); } \
    DIRECTED_2(R, name, A)
#define ROUNDED_3(R, name, A) \
    R name##_rn(const in A a, const in A b, const in A c) \
    { return name##_mode(a, b, c, ROUND_RN); } \
    DIRECTED_3(R, name, A)
#define INTEGRAL_1(R, name, A) \
    R name##_rni(const in A a) { return name##_mode(a, ROUND_RN); } \
    R name##_rzi(const in A a) { return name##_mode(a, ROUND_RZ); } \
    R name##_rmi(const in A a) { return name##_mode(a, ROUND_RM); } \
    R name##_rpi(const in A a) { return name##_mode(a, ROUND_RP); }

#define SIGN_BIT 0x80000000u
#define F32_INF 0x7f800000u
#define F32_NAN 0x7fffffffu

// Every rounding is one comparison: the magnitude goes up when the dropped bits, aligned to the
// top of a word with everything lower collected in bit 0, exceed a threshold. Nearest even: half,
// or just under half when the kept part is odd. Directed: nothing or everything, by the sign (0 or
// SIGN_BIT). `mode` is a constant wherever this is called; the choice folds away.
uint round_threshold(const in uint mode, const in uint sign, const in uint kept)
{
    uint away = uint(int(sign) >> 31);
    uint directed = PICK(mode == ROUND_RP, away, PICK(mode == ROUND_RM, ~away, 0xffffffffu));
    return PICK(mode == ROUND_RN, 0x80000000u - (kept & 1u), directed);
}

// The largest magnitude a mode overflows to, as infinity minus 0 or 1.
uint round_limit(const in uint mode, const in uint threshold)
{
    return PICK(mode == ROUND_RN, 0u, threshold & 1u);
}

// The sign of an exact zero sum of operands with different signs.
uint round_zero(const in uint mode)
{
    return PICK(mode == ROUND_RM, SIGN_BIT, 0u);
}
