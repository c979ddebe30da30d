// Names of the IR's attributes, for the printer, messages and the tests' parser.
#pragma once

#include <array>
#include <string_view>

#include "translator/ir/ir.hpp"

namespace ptx2spv::ir {

inline constexpr std::array<std::string_view, 11> kSpaceNames = {
    "global",   "shared", "local", "param", "constant", "table",
    "textures", "trap",   "locks", "slot",  "push"};
inline constexpr std::array<std::string_view, 25> kAtomicNames = {
    "add",         "and",         "or",        "xor",        "umin",
    "umax",        "smin",        "smax",      "exch",       "fadd_f32",
    "fadd_f64",    "inc",         "dec",       "fadd_f16",   "fadd_bf16",
    "fadd_f16x2",  "fadd_bf16x2", "fmin_f16",  "fmin_bf16",  "fmin_f16x2",
    "fmin_bf16x2", "fmax_f16",    "fmax_bf16", "fmax_f16x2", "fmax_bf16x2"};
inline constexpr std::array<std::string_view, 16> kKindNames = {
    "none", "u8",  "s8",   "u16", "s16", "u32",  "s32",  "u64",
    "s64",  "f16", "bf16", "f32", "f64", "tf32", "e4m3", "e5m2"};
inline constexpr std::array<std::string_view, 12> kRoundNames = {
    "none", "rn", "rz", "rm", "rp", "rna", "rni", "rzi", "rmi", "rpi", "approx", "full"};
inline constexpr std::array<std::string_view, 21> kBuiltinNames = {
    "workgroup_id_x",   "workgroup_id_y",   "workgroup_id_z",   "local_id_x",
    "local_id_y",       "local_id_z",       "local_index",      "workgroup_size_x",
    "workgroup_size_y", "workgroup_size_z", "num_workgroups_x", "num_workgroups_y",
    "num_workgroups_z", "subgroup_lane",    "subgroup_size",    "shared_words",
    "global_id_x",      "global_id_y",      "global_id_z"};

inline std::string_view name(Space s) { return kSpaceNames[static_cast<std::size_t>(s)]; }
inline std::string_view name(AtomicOp a) { return kAtomicNames[static_cast<std::size_t>(a)]; }
inline std::string_view name(NumKind k) { return kKindNames[static_cast<std::size_t>(k)]; }
inline std::string_view name(Round r) { return kRoundNames[static_cast<std::size_t>(r)]; }
inline std::string_view name(Builtin b) { return kBuiltinNames[static_cast<std::size_t>(b)]; }

}  // namespace ptx2spv::ir
