/* An allocator of a program's own, which tells NVTX what it gives out, and a kernel's fault that
 * the argument names. Behind NVTX's declarations, and those of who includes this file. */

static unsigned long long memory_of(unsigned long long bytes); /* of the device, not written */
static void fill(unsigned long long to, unsigned bytes);       /* by the host's call */
static void store(unsigned long long to, unsigned index);      /* a word, by a kernel */
static void load(unsigned long long from, unsigned index);     /* a word, by a kernel */
static void mark_initialized(unsigned long long from, size_t bytes);
static void finish(void);

static void* pointer_to(unsigned long long address) { return (void*)(uintptr_t)address; }

static nvtxMemHeapHandle_t open_heap(unsigned long long address, size_t bytes, uint32_t usage) {
  nvtxMemVirtualRangeDesc_t range;
  nvtxMemHeapDesc_t heap;
  memset(&heap, 0, sizeof heap);
  range.size = bytes;
  range.ptr = pointer_to(address);
  heap.extCompatID = NVTX_EXT_COMPATID_MEM;
  heap.structSize = sizeof heap;
  heap.usage = usage;
  heap.type = NVTX_MEM_TYPE_VIRTUAL_ADDRESS;
  heap.typeSpecificDescSize = sizeof range;
  heap.typeSpecificDesc = &range;
  heap.messageType = NVTX_MESSAGE_TYPE_ASCII;
  heap.message.ascii = "arena";
  return nvtxMemHeapRegister(NULL, &heap);
}

static void give_out(nvtxMemHeapHandle_t heap, unsigned long long address, size_t bytes) {
  nvtxMemVirtualRangeDesc_t range;
  nvtxMemRegionHandle_t handle = NULL;
  nvtxMemRegionsRegisterBatch_t batch;
  memset(&batch, 0, sizeof batch);
  range.size = bytes;
  range.ptr = pointer_to(address);
  batch.extCompatID = NVTX_EXT_COMPATID_MEM;
  batch.structSize = sizeof batch;
  batch.regionType = NVTX_MEM_TYPE_VIRTUAL_ADDRESS;
  batch.heap = heap;
  batch.regionCount = 1;
  batch.regionDescElementSize = sizeof range;
  batch.regionDescElements = &range;
  batch.regionHandleElementsOut = &handle;
  nvtxMemRegionsRegister(NULL, &batch);
}

static void take_back(unsigned long long address) {
  nvtxMemRegionRef_t reference;
  nvtxMemRegionsUnregisterBatch_t batch;
  memset(&batch, 0, sizeof batch);
  reference.pointer = pointer_to(address);
  batch.extCompatID = NVTX_EXT_COMPATID_MEM;
  batch.structSize = sizeof batch;
  batch.refType = NVTX_MEM_REGION_REF_TYPE_POINTER;
  batch.refCount = 1;
  batch.refElementSize = sizeof reference;
  batch.refElements = &reference;
  nvtxMemRegionsUnregister(NULL, &batch);
}

static void resize(unsigned long long address, size_t bytes) {
  nvtxMemVirtualRangeDesc_t range;
  nvtxMemRegionsResizeBatch_t batch;
  memset(&batch, 0, sizeof batch);
  range.size = bytes;
  range.ptr = pointer_to(address);
  batch.extCompatID = NVTX_EXT_COMPATID_MEM;
  batch.structSize = sizeof batch;
  batch.regionType = NVTX_MEM_TYPE_VIRTUAL_ADDRESS;
  batch.regionDescCount = 1;
  batch.regionDescElementSize = sizeof range;
  batch.regionDescElements = &range;
  nvtxMemRegionsResize(NULL, &batch);
}

static void name(unsigned long long address, const char* text) {
  nvtxMemRegionNameDesc_t named;
  nvtxMemRegionsNameBatch_t batch;
  memset(&named, 0, sizeof named);
  memset(&batch, 0, sizeof batch);
  named.regionRefType = NVTX_MEM_REGION_REF_TYPE_POINTER;
  named.nameType = NVTX_MESSAGE_TYPE_ASCII;
  named.region.pointer = pointer_to(address);
  named.name.ascii = text;
  batch.extCompatID = NVTX_EXT_COMPATID_MEM;
  batch.structSize = sizeof batch;
  batch.regionCount = 1;
  batch.regionElementSize = sizeof named;
  batch.regionElements = &named;
  nvtxMemRegionsName(NULL, &batch);
}

static int run(const char* what) {
  enum { kBytes = 4096, kFirst = 256, kSecond = 512, kWords = 64 };
  const int layout = !strcmp(what, "layout");
  const unsigned long long pool = memory_of(kBytes), first = pool + kFirst, second = pool + kSecond;
  const nvtxMemHeapHandle_t heap =
      open_heap(pool, kBytes - 1024,
                layout ? NVTX_MEM_HEAP_USAGE_TYPE_LAYOUT : NVTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR);
  give_out(heap, first, kWords * 4);
  give_out(heap, second, kWords * 4 - 8);
  fill(first, kWords * 4);
  fill(pool + kBytes - 1024, 1024); /* behind the pool */
  store(second, 3);
  load(second, 3);
  load(first, kWords - 1);
  load(pool + kBytes - 1024, 255);
  if (!strcmp(what, "overrun")) store(second, kWords - 2);
  if (!strcmp(what, "neighbour")) store(first, kWords);
  if (!strcmp(what, "between")) store(pool, 2);
  if (layout) store(pool, 2);
  if (!strcmp(what, "named")) {
    name(first, "weights");
    store(first, kWords);
  }
  if (!strcmp(what, "freed")) {
    take_back(first);
    store(first, 1);
  }
  if (!strcmp(what, "again") || !strcmp(what, "marked")) {
    take_back(first);
    give_out(heap, first, 128);
    if (!strcmp(what, "marked")) mark_initialized(first, 128);
    load(first, 2);
  }
  if (!strcmp(what, "grown") || !strcmp(what, "grown-unwritten")) {
    take_back(second);
    resize(first, 384);
    load(first, kWords - 1);
    if (!strcmp(what, "grown")) store(first, kWords);
    load(first, kWords);
  }
  if (!strcmp(what, "emptied")) {
    nvtxMemHeapReset(NULL, heap);
    store(first, 1);
  }
  if (!strcmp(what, "closed")) {
    nvtxMemHeapUnregister(NULL, heap);
    store(pool, 2);
    load(second, 60);
  }
  if (!strcmp(what, "permissions")) nvtxMemPermissionsReset(NULL, NULL);
  finish();
  puts("good");
  return 0;
}
