#ifndef FATBIN_H
#define FATBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * fatbin: finds, reads, makes, changes and checks GPU device images.
 *
 * Errors. A function that can fail takes `fatbin_error **error` last. NULL is allowed. Otherwise the error is written there, or
 * NULL on success; free it with fatbin_error_free. Functions that return a pointer return NULL on failure, the others false.
 * An error in the library itself, a panic of Rust, is caught and returned as FATBIN_STATUS_INTERNAL.
 *
 * Ownership. Each handle has a function that frees it, and accepts NULL. Strings and bytes that a function returns belong to
 * the handle in its first argument and are valid until that is freed, unless the function states less.
 *
 * Threads. Handles are independent of each other: different threads may use different handles at the same time. One handle is
 * used by one thread at a time; functions that take it as `const` may run at the same time in several.
 *
 * Strings end in NUL. They are UTF-8, except paths on systems where paths are bytes. A path "-" is a file of that name.
 *
 * Versions. Functions and the fields of records are never removed or changed while FATBIN_ABI_VERSION grows; records grow at
 * their end, so callers pass the size of theirs. Enumerations may get further values.
 */

/** An index that does not exist. */
#define FATBIN_NO_INDEX SIZE_MAX


/**
 * Version of the interface that this header describes. It grows with each addition.
 */
#define FATBIN_ABI_VERSION 2

/**
 * An offset, a size or a version that does not exist.
 */
#define FATBIN_NONE UINT64_MAX



/**
 * Maps the file into memory instead of reading it. No process may write or truncate it until it is freed: its bytes would
 * change behind the pointers of fatbin_file_read, and a truncated file ends the program with SIGBUS.
 */
#define FATBIN_OPEN_MAP 1

/**
 * Hashes each image with SHA-256, which reads and decompresses all of them.
 */
#define FATBIN_OPEN_HASH 2

/**
 * Finds only containers that headers and registration structures lead to, without a search of all bytes.
 */
#define FATBIN_OPEN_FAST 4

/**
 * Outcome of a check.
 */
typedef enum {
    /**
     * All requirements are met.
     */
    FATBIN_OUTCOME_PASSED = 0,
    /**
     * A requirement is violated, of which the policy only warns.
     */
    FATBIN_OUTCOME_WARNED = 1,
    /**
     * A requirement is violated.
     */
    FATBIN_OUTCOME_VIOLATED = 2,
    /**
     * A requirement cannot be decided, which does not pass.
     */
    FATBIN_OUTCOME_UNDECIDED = 3,
} fatbin_outcome;

/**
 * Kind of an error. Later releases may add kinds.
 */
typedef enum {
    /**
     * No error.
     */
    FATBIN_STATUS_OK = 0,
    /**
     * An argument is invalid: NULL, not UTF-8, an index out of range, an unknown name, or images that do not fit together.
     */
    FATBIN_STATUS_ARGUMENT = 1,
    /**
     * The operating system reports an error, or a file changed while it was read.
     */
    FATBIN_STATUS_IO = 2,
    /**
     * Bytes of a file violate their format. The error has their offset.
     */
    FATBIN_STATUS_MALFORMED = 3,
    /**
     * Reading the file would take more memory or work than its size allows.
     */
    FATBIN_STATUS_LIMIT = 4,
    /**
     * The format, host, release or kind is not supported.
     */
    FATBIN_STATUS_UNSUPPORTED = 5,
    /**
     * The policy is invalid.
     */
    FATBIN_STATUS_POLICY = 6,
    /**
     * An error in this library, please report it. Free the handles of the call, and use them for nothing else.
     */
    FATBIN_STATUS_INTERNAL = 7,
} fatbin_status;

/**
 * Bytes that a function has produced.
 */
typedef struct fatbin_bytes fatbin_bytes;

/**
 * Reason why a call failed.
 */
typedef struct fatbin_error fatbin_error;

/**
 * A file, or an archive with its members, and the device images in it.
 */
typedef struct fatbin_file fatbin_file;

/**
 * The selections from all sets of images of a file that have code for devices of one platform.
 */
typedef struct fatbin_selection fatbin_selection;

/**
 * Sources of the instructions of an image.
 */
typedef struct fatbin_source_index fatbin_source_index;

/**
 * The verdict of a policy on files.
 */
typedef struct fatbin_verdict fatbin_verdict;

/**
 * Images and entries for a host object that registers them when its program or library is loaded.
 */
typedef struct fatbin_wrapper fatbin_wrapper;

/**
 * A container of images. Strings are valid until the file is freed. Later releases may add fields at the end.
 */
typedef struct {
    /**
     * Path of the file, or ARCHIVE!MEMBER.
     */
    const char *path;
    /**
     * Type, as in the output of "fatbin scan --json": "offload-binary", "bundle", "ccob", "cuda-fatbin" and others.
     */
    const char *container_type;
    /**
     * Section that holds it, or NULL.
     */
    const char *section;
    /**
     * Codec of the container as a whole, or NULL if it is not compressed.
     */
    const char *codec;
    /**
     * Index of the container around it, or FATBIN_NO_INDEX.
     */
    size_t parent;
    /**
     * Offset in the file; FATBIN_NONE inside a compressed container.
     */
    uint64_t offset;
    /**
     * Stored size in bytes.
     */
    uint64_t size;
    /**
     * Version of its format, or FATBIN_NONE.
     */
    uint64_t version;
} fatbin_container;

/**
 * A device image. Strings are valid until the file is freed. Later releases may add fields at the end.
 */
typedef struct {
    /**
     * Path of the file, or ARCHIVE!MEMBER.
     */
    const char *path;
    /**
     * Type of the innermost container, see fatbin_container.
     */
    const char *container_type;
    /**
     * Offload kind, "openmp", "cuda", "hip" or "sycl", or NULL if the container does not state it.
     */
    const char *offload_kind;
    /**
     * Target triple, or NULL.
     */
    const char *triple;
    /**
     * Processor with its features or suffix, such as "gfx90a:xnack+" or "sm_90a", or NULL.
     */
    const char *arch;
    /**
     * Bundle entry ID, or NULL.
     */
    const char *entry_id;
    /**
     * Symbol of the host file that covers the image, or NULL.
     */
    const char *symbol;
    /**
     * Format of the bytes: "elf", "ptx", "spirv", "bitcode" and others.
     */
    const char *image_type;
    /**
     * Extension of files with such an image, without a dot.
     */
    const char *extension;
    /**
     * Codec: "none", "lz4", "zstd", "zlib" or "opaque"; that of the container if it is compressed as a whole.
     */
    const char *codec;
    /**
     * SHA-256 of the decompressed image, 32 bytes, or NULL without FATBIN_OPEN_HASH.
     */
    const uint8_t *sha256;
    /**
     * Index of the innermost container.
     */
    size_t container;
    /**
     * Offset in the file; FATBIN_NONE inside a compressed container.
     */
    uint64_t offset;
    /**
     * Stored size in bytes; FATBIN_NONE inside a compressed container.
     */
    uint64_t stored_size;
    /**
     * Size in bytes, decompressed; FATBIN_NONE where only decompression shows it.
     */
    uint64_t size;
    /**
     * True if the image or a container around it is compressed.
     */
    bool compressed;
} fatbin_image;

/**
 * Bytes in memory, and what a function that produces needs to know about them. Strings may be NULL. This record does not grow.
 */
typedef struct {
    /**
     * The bytes. They must not change during the call.
     */
    const uint8_t *data;
    /**
     * Number of bytes.
     */
    size_t size;
    /**
     * Name in messages; in a bundle the target ID, in an object the symbol, in a CUDA fat binary the identifier.
     */
    const char *name;
    /**
     * Target triple of an image for an offload binary, if its header does not state it.
     */
    const char *triple;
    /**
     * Processor of an image, if its header does not state it.
     */
    const char *arch;
    /**
     * Options of an image in a CUDA fat binary, for the driver's compiler.
     */
    const char *options;
} fatbin_source;

/**
 * The selection of a runtime from one set of images. Strings are valid until the selection is freed. Later releases may add
 * fields at the end.
 */
typedef struct {
    /**
     * The device. A name that leaves features open means several; devices with the same selection are separated by
     * commas.
     */
    const char *device;
    /**
     * Name of the runtime.
     */
    const char *runtime;
    /**
     * Method by which the image is loaded; without an image, the reasons for rejecting each.
     */
    const char *reason;
    /**
     * Index of the container, or of the first of several whose images are one set.
     */
    size_t container;
    /**
     * Index of the image, or FATBIN_NO_INDEX if the runtime selects none.
     */
    size_t image;
    /**
     * False if the selection is not known, because too little is known about an image.
     */
    bool certain;
} fatbin_answer;

/**
 * A function that an instruction belongs to. NULL and 0 are not known.
 */
typedef struct {
    /**
     * Name of the function.
     */
    const char *function;
    /**
     * Path of the source file.
     */
    const char *file;
    /**
     * Line, from 1 on.
     */
    uint32_t line;
    /**
     * Column, from 1 on.
     */
    uint32_t column;
} fatbin_frame;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Returns the version of the interface of the loaded library. A program that was compiled with a FATBIN_ABI_VERSION up to
 * this number runs with it.
 */
uint32_t fatbin_abi_version(void);

/**
 * Returns the version of the loaded library, such as "0.1.0".
 */
const char *fatbin_version(void);

/**
 * Checks files, directories and archives against a policy, the text of a file for "fatbin check --policy". `paths` are
 * `path_count` strings. A file that cannot be read is a finding. Returns NULL only if the policy or an argument is invalid. Free
 * the result with fatbin_verdict_free.
 */
fatbin_verdict *fatbin_check(const char *policy,
                             const char *const *paths,
                             size_t path_count,
                             fatbin_error **error);

/**
 * Returns the worst outcome of all rules.
 */
fatbin_outcome fatbin_verdict_outcome(const fatbin_verdict *verdict);

/**
 * Returns the verdict as a JSON document in the schema fatbin.check/1, which "fatbin schema check" prints. It is valid until
 * the verdict is freed.
 */
const char *fatbin_verdict_json(const fatbin_verdict *verdict);

/**
 * Frees a verdict. NULL is allowed.
 */
void fatbin_verdict_free(fatbin_verdict *verdict);

/**
 * Returns the kind of an error; FATBIN_STATUS_OK for NULL.
 */
fatbin_status fatbin_error_status(const fatbin_error *error);

/**
 * Returns the message of an error, "PATH: FIELD at 0xOFFSET: CAUSE" where it is about a file. It is valid until the error is
 * freed.
 */
const char *fatbin_error_message(const fatbin_error *error);

/**
 * Returns the offset of malformed bytes in the file, or in the decompressed image if the message names one; FATBIN_NONE for
 * other errors.
 */
uint64_t fatbin_error_offset(const fatbin_error *error);

/**
 * Frees an error. NULL is allowed.
 */
void fatbin_error_free(fatbin_error *error);

/**
 * Opens a file and finds the device images in it: an object, executable, library, container or image; a static library, wheel,
 * zip or tar file with all its members; or the range of a file that "file://PATH#offset=N&size=N" names. `flags` are 0 or a sum
 * of FATBIN_OPEN_*. Free the result with fatbin_file_free.
 *
 * A file without images is not an error, and neither is one of which a part is damaged: see fatbin_file_problem_count.
 */
fatbin_file *fatbin_file_open(const char *path,
                              uint32_t flags,
                              fatbin_error **error);

/**
 * Finds the device images in `size` bytes of memory, which must not change or be freed before the result is freed. Archives in
 * memory are not opened, but searched like any other bytes. The path of the file is "memory".
 */
fatbin_file *fatbin_file_open_memory(const uint8_t *data,
                                     size_t size,
                                     uint32_t flags,
                                     fatbin_error **error);

/**
 * Frees a file with all that belongs to it. NULL is allowed.
 */
void fatbin_file_free(fatbin_file *file);

/**
 * Returns the number of containers, at any depth.
 */
size_t fatbin_file_container_count(const fatbin_file *file);

/**
 * Writes the record of a container. Pass `sizeof *container` as the size. Returns false if the index is out of range.
 */
bool fatbin_file_container(const fatbin_file *file, size_t index, fatbin_container *container, size_t container_size);

/**
 * Returns the number of device images.
 */
size_t fatbin_file_image_count(const fatbin_file *file);

/**
 * Writes the record of an image. Pass `sizeof *image` as the size. Returns false if the index is out of range.
 */
bool fatbin_file_image(const fatbin_file *file, size_t index, fatbin_image *image, size_t image_size);

/**
 * Returns the number of damaged containers and unreadable members. While it is not 0, the file may have images that were not
 * found.
 */
size_t fatbin_file_problem_count(const fatbin_file *file);

/**
 * Returns the message about a problem, which is valid until the file is freed; NULL if the index is out of range.
 */
const char *fatbin_file_problem(const fatbin_file *file, size_t index);

/**
 * Returns the bytes of an image, decompressed. They are valid until the next call of this function for the file, or until the
 * file is freed. An image that is stored uncompressed is not copied.
 */
bool fatbin_file_read(fatbin_file *file,
                      size_t index,
                      const uint8_t **data,
                      size_t *size,
                      fatbin_error **error);

/**
 * Writes the bytes of an image, decompressed, to a file. An existing file is replaced when the new one is complete.
 */
bool fatbin_file_extract(fatbin_file *file, size_t index, const char *path, fatbin_error **error);

/**
 * Passes the bytes to the caller. They are valid until `bytes` is freed.
 */
const uint8_t *fatbin_bytes_data(const fatbin_bytes *bytes, size_t *size);

/**
 * Frees bytes. NULL is allowed.
 */
void fatbin_bytes_free(fatbin_bytes *bytes);

/**
 * Packs images for `kind` ("openmp", "cuda", "hip" or "sycl") into an offload binary. `abi` is the release of LLVM whose tools read
 * it, or NULL for the newest; `codec` is "zstd" or "zlib", with a level as in "zstd-19", or NULL. Free the result with
 * fatbin_bytes_free.
 */
fatbin_bytes *fatbin_pack(const char *kind,
                          const char *abi,
                          const char *codec,
                          const fatbin_source *images,
                          size_t count,
                          fatbin_error **error);

/**
 * Packs cubins, PTX, LTO-IR and Tile IR into a CUDA fat binary. `codec` is "zstd" or "lz4", with a level as in "zstd-19", or NULL.
 * With `concat`, the images of a sort are compressed as one. nvFatbin.h has the interface of NVIDIA's library for this.
 */
fatbin_bytes *fatbin_pack_cuda(const char *codec,
                               bool concat,
                               const fatbin_source *images,
                               size_t count,
                               fatbin_error **error);

/**
 * Bundles files of a type, such as "o" or "bc", with target IDs as their names. `codec` is "zstd" or "zlib", with a level as
 * in "zstd-19", or NULL; `version` is the version of the compressed form, 2 or 3.
 */
fatbin_bytes *fatbin_bundle(const char *file_type,
                            const char *codec,
                            uint16_t version,
                            const fatbin_source *entries,
                            size_t count,
                            fatbin_error **error);

/**
 * Returns the file of a bundle with exactly this target ID.
 */
fatbin_bytes *fatbin_unbundle(const fatbin_source *bundle, const char *id, fatbin_error **error);

/**
 * Returns a host object with files as data. A file `name` has the symbols `name` and `name_end`. `host` is a triple, or NULL for the
 * machine of this library.
 */
fatbin_bytes *fatbin_embed(const char *host,
                           const fatbin_source *files,
                           size_t count,
                           fatbin_error **error);

/**
 * Returns a file without the images that no runtime selects on these devices, such as "H100", "sm_90" or "gfx90a:xnack+". All other
 * bytes stay as they are, and the result is compared with the file.
 */
fatbin_bytes *fatbin_prune(const fatbin_source *file,
                           const char *const *devices,
                           size_t count,
                           fatbin_error **error);

/**
 * Returns a file without the images for these processors, such as "gfx90a", or "compute_80" for PTX alone.
 */
fatbin_bytes *fatbin_drop_archs(const fatbin_source *file,
                                const char *const *archs,
                                size_t count,
                                fatbin_error **error);

/**
 * Returns a file with its containers in other forms: "plain", "ccob2", "ccob3", "v1", "v2", "v3", "none", "lz4", "zstd" or "zlib", at
 * most one for each type of container. "level-19" and "best" are no forms: data is compressed at this level, or with the strongest
 * levels.
 */
fatbin_bytes *fatbin_transcode(const fatbin_source *file,
                               const char *const *forms,
                               size_t count,
                               fatbin_error **error);

/**
 * Returns a file in which image number `indexes[i]`, counted as by fatbin_file_image, is replaced by `images[i]`.
 */
fatbin_bytes *fatbin_replace(const fatbin_source *file,
                             const size_t *indexes,
                             const fatbin_source *images,
                             size_t count,
                             fatbin_error **error);

/**
 * Predicts which images a device loads, such as "gfx90a:sramecc+:xnack-", "sm_90", "x86_64" or "spir64": an answer for each
 * container, or set of containers, from which a runtime selects one image, if it has code for such devices at all. Free the
 * result with fatbin_selection_free; the file may be freed before.
 */
fatbin_selection *fatbin_file_select(const fatbin_file *file,
                                     const char *device,
                                     fatbin_error **error);

/**
 * Returns the number of answers.
 */
size_t fatbin_selection_count(const fatbin_selection *selection);

/**
 * Writes an answer. Pass `sizeof *answer` as the size. Returns false if the index is out of range.
 */
bool fatbin_selection_answer(const fatbin_selection *selection,
                             size_t index,
                             fatbin_answer *answer,
                             size_t answer_size);

/**
 * Frees a selection. NULL is allowed.
 */
void fatbin_selection_free(fatbin_selection *selection);

/**
 * Reads the line table of an image. Free the result with fatbin_source_index_free; it does not depend on the file.
 */
fatbin_source_index *fatbin_file_source_index(fatbin_file *file, size_t index, fatbin_error **error);

/**
 * Returns the address of an offset in a function of the image; FATBIN_NONE if the image has no such function.
 */
uint64_t fatbin_source_index_address(const fatbin_source_index *index, const char *function, uint64_t offset);

/**
 * Looks an address up, and returns the number of its frames: the innermost inlined function first. 0 if nothing is known.
 */
size_t fatbin_source_index_find(fatbin_source_index *index,
                                uint64_t address);

/**
 * Writes a frame of the address that was looked up last. Pass `sizeof *frame` as the size. Returns false if the number is out of range.
 */
bool fatbin_source_index_frame(const fatbin_source_index *index,
                               size_t number,
                               fatbin_frame *frame,
                               size_t frame_size);

/**
 * Frees an index with the strings of its frames. NULL is allowed.
 */
void fatbin_source_index_free(fatbin_source_index *index);

/**
 * Begins a host object. `kind` is "openmp", "cuda", "hip" or "sycl". `host` is the triple of the host, or NULL for the machine
 * of this library. `abi` is the release of LLVM whose host objects and runtime are used, such as "llvm22", or NULL for the newest.
 * Free the result with fatbin_wrapper_free.
 */
fatbin_wrapper *fatbin_wrapper_new(const char *kind,
                                   const char *host,
                                   const char *abi,
                                   fatbin_error **error);

/**
 * Frees a wrapper with the object that it holds. NULL is allowed.
 */
void fatbin_wrapper_free(fatbin_wrapper *wrapper);

/**
 * Adds the image in a file, which is read at once. `triple` and `arch` are NULL, or properties that the header of the image does
 * not have. The runtime sees images in the order in which they were added.
 */
bool fatbin_wrapper_add_file(fatbin_wrapper *wrapper,
                             const char *path,
                             const char *triple,
                             const char *arch,
                             fatbin_error **error);

/**
 * Adds an image in memory, which must not change or be freed before the wrapper is freed. `name` is its name in messages. The
 * other arguments are those of fatbin_wrapper_add_file.
 */
bool fatbin_wrapper_add_memory(fatbin_wrapper *wrapper,
                               const char *name,
                               const uint8_t *data,
                               size_t size,
                               const char *triple,
                               const char *arch,
                               fatbin_error **error);

/**
 * Adds an offload entry, for host programs that no offload compiler has compiled: the kernel or variable `name` of the image, which the
 * program refers to by the address of `host_symbol`, or of a symbol `name` if that is NULL. `size` is 0 for a kernel. The meaning of
 * `flags` depends on the ABI.
 */
bool fatbin_wrapper_add_entry(fatbin_wrapper *wrapper,
                              const char *name,
                              const char *host_symbol,
                              uint64_t size,
                              uint32_t flags,
                              fatbin_error **error);

/**
 * Writes the object to a file: LLVM bitcode if its name ends in ".bc", LLVM IR as text for ".ll", else an object for the linker.
 * An existing file is replaced when the new one is complete.
 */
bool fatbin_wrapper_write(const fatbin_wrapper *wrapper,
                          const char *path,
                          fatbin_error **error);

/**
 * Returns the object for the linker in memory. It is valid until the next call of this function for the wrapper, or until the
 * wrapper is freed.
 */
bool fatbin_wrapper_object(fatbin_wrapper *wrapper,
                           const uint8_t **data,
                           size_t *size,
                           fatbin_error **error);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* FATBIN_H */
