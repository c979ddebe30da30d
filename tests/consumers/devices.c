/* devices: the C interface from C; prints the device that it opened. */
#include <ptx2spv/ptx2spv.h>
#include <stdio.h>

int main(void) {
  ptx2spv_device* device = NULL;
  ptx2spv_device_info info;
  PTX2SPV_INIT(info);
  if (ptx2spv_api_version() != PTX2SPV_API_VERSION) return 2;
  if (ptx2spv_device_open(NULL, &device) != PTX2SPV_OK ||
      ptx2spv_device_get_info(device, &info) != PTX2SPV_OK) {
    fprintf(stderr, "%s\n", ptx2spv_last_error());
    return 1;
  }
  puts(info.name);
  ptx2spv_device_destroy(device);
  return 0;
}
