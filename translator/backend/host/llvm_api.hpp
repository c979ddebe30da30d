// LLVM, through its C interface, from the library that the machine has. It is loaded when the first
// kernel is compiled; nothing of it is needed to build.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace ptx2spv::interpreter::llvm {

#define PTX2SPV_HANDLE(name) using name = struct Opaque##name*;
PTX2SPV_HANDLE(LLVMContextRef)
PTX2SPV_HANDLE(LLVMModuleRef)
PTX2SPV_HANDLE(LLVMTypeRef)
PTX2SPV_HANDLE(LLVMValueRef)
PTX2SPV_HANDLE(LLVMMetadataRef)
PTX2SPV_HANDLE(LLVMAttributeRef)
PTX2SPV_HANDLE(LLVMBasicBlockRef)
PTX2SPV_HANDLE(LLVMBuilderRef)
PTX2SPV_HANDLE(LLVMDIBuilderRef)
PTX2SPV_HANDLE(LLVMTargetRef)
PTX2SPV_HANDLE(LLVMTargetMachineRef)
PTX2SPV_HANDLE(LLVMTargetDataRef)
PTX2SPV_HANDLE(LLVMMemoryBufferRef)
PTX2SPV_HANDLE(LLVMPassBuilderOptionsRef)
PTX2SPV_HANDLE(LLVMErrorRef)
PTX2SPV_HANDLE(LLVMOrcLLJITRef)
PTX2SPV_HANDLE(LLVMOrcLLJITBuilderRef)
PTX2SPV_HANDLE(LLVMOrcJITDylibRef)
PTX2SPV_HANDLE(LLVMOrcExecutionSessionRef)
PTX2SPV_HANDLE(LLVMOrcObjectLayerRef)
PTX2SPV_HANDLE(LLVMJITEventListenerRef)
PTX2SPV_HANDLE(LLVMOrcDefinitionGeneratorRef)
#undef PTX2SPV_HANDLE

/// Numbers of LLVM's enumerations that its C interface keeps.
enum Opcode : int {
  op_add = 8,
  op_fadd = 9,
  op_sub = 10,
  op_fsub = 11,
  op_mul = 12,
  op_fmul = 13,
  op_udiv = 14,
  op_sdiv = 15,
  op_fdiv = 16,
  op_urem = 17,
  op_shl = 20,
  op_lshr = 21,
  op_ashr = 22,
  op_and = 23,
  op_or = 24,
  op_xor = 25,
  op_trunc = 30,
  op_zext = 31,
  op_sext = 32,
  op_fptoui = 33,
  op_fptosi = 34,
  op_uitofp = 35,
  op_sitofp = 36,
  op_fptrunc = 37,
  op_fpext = 38,
  op_ptrtoint = 39,
  op_inttoptr = 40,
  op_bitcast = 41,
};
enum Compare : int {
  int_eq = 32,
  int_ne,
  int_ugt,
  int_uge,
  int_ult,
  int_ule,
  int_sgt,
  int_sge,
  int_slt,
  int_sle,
  real_oeq = 1,
  real_olt = 4,
  real_ole = 5,
  real_uno = 8,
};
inline constexpr int kSequentiallyConsistent = 7;
inline constexpr unsigned kFunctionIndex = 0xffffffffu;

struct Api {
#define FUNCTION(result, name, parameters) result(*name) parameters = nullptr;
#include "translator/backend/host/llvm_api.def"
  std::string file;     ///< the library's name
  std::string version;  ///< tells one file of that name from another
};

/// The interface, or null where no library of a known version is installed, or one lacks a
/// function; `problem` says which then. The first caller loads it. Thread-safe.
const Api* load_api(std::string& problem);

}  // namespace ptx2spv::interpreter::llvm
