// An object that nothing needs on the device.
__device__ unsigned unused(unsigned seed) { return seed + 7; }
