//! Kinds of images.

/// Declares [`ImageKind`] from one table, so that a kind without a name or an extension does not compile.
macro_rules! image_kinds {
    ($($(#[$attribute:meta])+ $kind:ident => $name:literal, $extension:literal;)+) => {
        /// Kind of an image's content, named as in `fatbin scan --json`.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ImageKind {
            $($(#[$attribute])+ $kind,)+
        }

        impl ImageKind {
            /// Every kind.
            #[doc(hidden)]
            pub const ALL: [ImageKind; [$(stringify!($kind)),+].len()] = [$(ImageKind::$kind),+];

            /// Returns the name in reports.
            pub fn name(self) -> &'static str {
                match self { $(ImageKind::$kind => $name,)+ }
            }

            /// Returns the file name extension that tools use for this kind.
            pub fn extension(self) -> &'static str {
                match self { $(ImageKind::$kind => $extension,)+ }
            }
        }
    };
}

image_kinds! {
    /// An ELF file.
    Elf => "elf", "elf";
    /// PTX text.
    Ptx => "ptx", "ptx";
    // nvcc uses this extension for the output of --ltoir.
    /// NVIDIA's intermediate representation for link-time optimisation.
    Nvvm => "nvvm", "ltoir";
    // nvcc uses this extension for the output of --optix-ir.
    /// OptiX IR: code that the OptiX library compiles.
    OptixIr => "optixir", "optixir";
    // nvcc uses this extension for the output of --tilebc.
    /// Tile IR bytecode.
    TileIr => "tileir", "tilebc";
    /// LLVM bitcode.
    Bitcode => "bitcode", "bc";
    /// A SPIR-V module.
    SpirV => "spirv", "spv";
    // The extension of Apple's tools.
    /// A Metal library.
    MetalLibrary => "metallib", "metallib";
    /// Machine code for a GPU under macOS or iOS.
    MetalBinary => "metal-binary", "bin";
    // The extension of ocloc, with `-gen_file`.
    /// Code for Intel's GPUs with patch tokens, the layout before zebin.
    PatchTokens => "patchtokens", "gen";
    /// A CUDA fat binary.
    Fatbin => "fatbin", "fatbin";
    // clang's driver uses these extensions for offload binaries and bundles.
    /// An offload binary in another container.
    OffloadBinary => "offload-binary", "out";
    /// A bundle in another container.
    Bundle => "bundle", "hipfb";
    /// A compressed bundle in another container.
    CompressedBundle => "ccob", "hipfb";
    // ocloc's extension.
    /// An archive of ocloc, which is a SYCL image.
    OclocArchive => "ocloc-archive", "ar";
    // DPC++'s extension.
    /// A SYCLBIN file of version 1 in an offload binary: several images of SYCL with properties.
    SyclBin => "syclbin", "syclbin";
    // The extension of Microsoft's compilers is of the source: cso.
    /// A container of a DirectX shader.
    DxContainer => "dxbc", "dxbc";
    /// Properties that are for other images: an entry of a container without device code.
    Metadata => "metadata", "bin";
    // The extension of files that `--only-keep-debug` writes.
    /// An ELF file with debug information for code in another file: split DWARF, or a file without its code.
    DebugElf => "debug-elf", "debug";
    /// An ELF file for the host, as contained in bundles.
    HostObject => "host-object", "o";
    /// No bytes.
    Empty => "empty", "bin";
    /// Anything else.
    #[default]
    Unknown => "unknown", "bin";
}
