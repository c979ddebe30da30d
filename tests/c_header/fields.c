/* Prints what a header of `ptx2spv --emit c-header` says, for tests/c_header/run, which compares it
 * with the JSON of the same module. */
#include <stdio.h>

#include HEADER

int main(void) {
  const ptx2spv_h_module* module = &MODULE;
  uint32_t i, k;
  unsigned long long sum = 0;
  printf("words %lu, magic %08x\n", (unsigned long)module->spirv_words, module->spirv[0]);
  for (i = 0; i < module->kernel_count; ++i) {
    const ptx2spv_h_kernel* kernel = &module->kernels[i];
    printf("kernel %s %u %u %u %u %u\n", kernel->name, kernel->bindings, kernel->param_bytes,
           kernel->param_buffer_bytes, kernel->slot_records, kernel->push_words);
    for (k = 0; k < kernel->slot_count; ++k)
      printf("slot %s %u\n", kernel->slots[k].name, kernel->slots[k].offset);
    for (k = 1; k < kernel->trap_site_count; ++k)
      printf("site %u %u %s\n", kernel->trap_sites[k].line, kernel->trap_sites[k].column,
             kernel->trap_sites[k].text);
  }
  for (i = 0; i < module->variable_count; ++i)
    printf("variable %s %llu %llu\n", module->variables[i].name,
           (unsigned long long)module->variables[i].offset,
           (unsigned long long)module->variables[i].bytes);
  for (i = 0; i < module->constants_bytes; ++i) sum += module->constants[i] * (i + 1ull);
  printf("constants %llu %llu\n", (unsigned long long)module->constants_bytes, sum);
  for (i = 0; i < module->relocation_count; ++i)
    printf("relocation %s %llu %s\n", module->relocations[i].kind,
           (unsigned long long)module->relocations[i].at, module->relocations[i].symbol);
  return 0;
}
