/* A target region, which the runtime runs on a device: the host itself, with the plugin for x86-64. The device half is compiled
 * with DEVICE; the host half, to which the program falls back without an image, returns 0. */
#ifdef DEVICE
#define ANSWER 42
#else
#define ANSWER 0
#endif

int region(void) {
    int answer = -1;
#pragma omp target map(tofrom : answer)
    answer = ANSWER;
    return answer;
}
