/* A target region for OpenMP. No package has LLVM's device runtime for NVIDIA GPUs, so the image has the three functions of it that
 * a region of one thread calls.
 *
 * Prints the number that the region adds, which names the image that libomptarget has loaded: "value N", 0 on the host. */
#include <stdio.h>

#pragma omp begin declare target device_type(nohost)
#ifdef __CUDA_ARCH__
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define NUMBER (21000 + __CUDA_ARCH__ / 10)
#else
#define NUMBER (20000 + __CUDA_ARCH__ / 10)
#endif
__attribute__((used, visibility("default"))) unsigned long image_marker[2] = {0x52454b52414d4246, NUMBER};

int __kmpc_get_hardware_thread_id_in_block(void) { return __nvvm_read_ptx_sreg_tid_x(); }

/* Returns -1 to the thread that executes the region. */
int __kmpc_target_init(void *environment, void *launch) {
    (void)environment, (void)launch;
    return __kmpc_get_hardware_thread_id_in_block() == 0 ? -1 : 0;
}

void __kmpc_target_deinit(void) {}
#else
#define NUMBER 0
#endif
#pragma omp end declare target

int main(void) {
    unsigned number = 1000;
#pragma omp target map(tofrom: number)
    number += NUMBER;
    printf("value %u\n", number - 1000);
    return 0;
}
