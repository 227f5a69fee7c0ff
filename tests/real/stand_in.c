/* A GPU library of the right name with nothing in it: what a framework's search finds or misses
   does not depend on the contents. The functions are those that JAX calls to ask for the version,
   and answer with one that is new enough. */

#include <dlfcn.h>
#include <stddef.h>

/* As cuDNN 9 does: the answer lies in its graph part. */
size_t cudnnGetVersion(void) {
  dlopen("libcudnn_graph.so.9", RTLD_LAZY);
  return 99999;
}
int cudnnGetProperty(int which, int* value) {
  (void)which;
  *value = (int)(cudnnGetVersion() % 100);
  return 0;
}
int cufftGetVersion(int* version) {
  *version = 99999;
  return 0;
}
int cuptiGetVersion(unsigned* version) {
  *version = 999999;
  return 0;
}
int cublasGetVersion_v2(void* handle, int* version) {
  (void)handle;
  *version = 999999;
  return 0;
}
int cusparseGetProperty(int which, int* value) {
  (void)which;
  *value = 99;
  return 0;
}
