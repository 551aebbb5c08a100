// SPDX-License-Identifier: Apache-2.0

// hold allocates a known amount of GPU memory through CUDA's driver API and
// keeps it until its standard input ends. It needs the driver only, no
// toolkit: libcuda is loaded at run time and its few functions are declared
// here (CUDA Driver API reference, sections 6.2 to 6.13).
//
//	hold DEVICE MIB [device|managed]
//
// It prints "ready PID BYTES" when the memory is there. It changes no setting
// of the device.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int cu_result;
typedef int cu_device;
typedef void *cu_context;
typedef unsigned long long cu_pointer;

enum { ATTACH_GLOBAL = 1 }; // CU_MEM_ATTACH_GLOBAL

struct driver {
	cu_result (*init)(unsigned);
	cu_result (*device_get)(cu_device *, int);
	cu_result (*ctx_create)(cu_context *, unsigned, cu_device);
	cu_result (*mem_alloc)(cu_pointer *, size_t);
	cu_result (*mem_alloc_managed)(cu_pointer *, size_t, unsigned);
	cu_result (*memset_d8)(cu_pointer, unsigned char, size_t);
	cu_result (*ctx_synchronize)(void);
	cu_result (*get_error_name)(cu_result, const char **);
};

static void *must_load(void *lib, const char *name)
{
	void *f = dlsym(lib, name);
	if (!f) {
		fprintf(stderr, "hold: libcuda has no %s: the driver is too old\n", name);
		exit(1);
	}
	return f;
}

static struct driver load(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW);
	if (!lib) {
		fprintf(stderr, "hold: cannot load libcuda.so.1: %s\nhold: install NVIDIA's driver, or set LD_LIBRARY_PATH to where it is\n", dlerror());
		exit(1);
	}
	struct driver d = {
		.init = must_load(lib, "cuInit"),
		.device_get = must_load(lib, "cuDeviceGet"),
		.ctx_create = must_load(lib, "cuCtxCreate_v2"),
		.mem_alloc = must_load(lib, "cuMemAlloc_v2"),
		.mem_alloc_managed = must_load(lib, "cuMemAllocManaged"),
		.memset_d8 = must_load(lib, "cuMemsetD8_v2"),
		.ctx_synchronize = must_load(lib, "cuCtxSynchronize"),
		.get_error_name = must_load(lib, "cuGetErrorName"),
	};
	return d;
}

static void check(const struct driver *d, cu_result r, const char *what)
{
	const char *name = "unknown error";
	if (r == 0)
		return;
	d->get_error_name(r, &name);
	fprintf(stderr, "hold: %s: %s (%d)\n", what, name, r);
	exit(1);
}

static void allocate(const struct driver *d, size_t bytes, int managed)
{
	cu_pointer p;
	if (managed)
		check(d, d->mem_alloc_managed(&p, bytes, ATTACH_GLOBAL), "allocate managed memory");
	else
		check(d, d->mem_alloc(&p, bytes), "allocate device memory");
	// Touch it: managed memory is on the device only once it was used there.
	check(d, d->memset_d8(p, 1, bytes), "write the memory");
	check(d, d->ctx_synchronize(), "wait for the device");
}

int main(int argc, char **argv)
{
	char buf[64];
	cu_device dev;
	cu_context ctx;

	if (argc < 3) {
		fprintf(stderr, "usage: hold DEVICE MIB [device|managed]\n");
		return 2;
	}
	size_t bytes = strtoull(argv[2], NULL, 10) << 20;
	int managed = argc > 3 && strcmp(argv[3], "managed") == 0;
	struct driver d = load();
	check(&d, d.init(0), "start the driver");
	check(&d, d.device_get(&dev, atoi(argv[1])), "find the device");
	check(&d, d.ctx_create(&ctx, 0, dev), "create a context");
	if (bytes > 0)
		allocate(&d, bytes, managed);
	printf("ready %d %zu\n", getpid(), bytes);
	fflush(stdout);
	while (read(0, buf, sizeof buf) > 0)
		;
	return 0;
}
