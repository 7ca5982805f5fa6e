//! seeds DIRECTORY: writes the initial inputs of the fuzzer, one directory per target.
//!
//! They are the images in `fixtures/`, on their own and in every container: from random bytes alone, a fuzzer hardly ever
//! passes a magic and the offsets after it.

#[path = "seed_texts.rs"]
mod texts;

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use fatbin::Codec;
use fatbin::OffloadKind;
use fatbin::View;
use fatbin::embed::{EmbeddedForm, TargetOverride};
use fatbin_core::base::codec::Compression;
use fatbin_core::base::content::Content;
use fatbin_core::format::ccob;
use fatbin_core::format::ccob::Version;
use fatbin_core::format::embed_record::record;
use fatbin_core::format::{DeviceImage, ImageKind, bundle, cuda_fatbin, kpack, offload_binary};
use fatbin_core::host::rewrite::{NewSection, with_sections};
use fatbin_ops::embed::wrap::files::{ImageFile, WrapOptions, wrap};

const HOST_ID: &str = "host-x86_64-unknown-linux-gnu-";

fn main() -> io::Result<()> {
    let directory = PathBuf::from(env::args_os().nth(1).expect("usage: seeds DIRECTORY"));
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures");
    for entry in fs::read_dir(fixtures)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let bytes = fs::read(&path)?;
        let image = DeviceImage::identify(View::new(&bytes));
        if name.ends_with(".oxart") {
            save(&directory, "oxart", &name, &bytes)?;
            save(&directory, "rebuild", &name, &[b"\x01\x00", &bytes[..]].concat())?;
            save(&directory, "scan", &name, &bytes)?;
        }
        if name.ends_with(".kdb") || name.ends_with(".aks2") {
            save(&directory, "kernel_store", &name, &bytes)?;
        }
        if image.image_kind == ImageKind::MetalLibrary {
            save(&directory, "metallib", &name, &bytes)?;
            save(&directory, "metal_archive", &name, &metal_archive(&bytes))?;
        }
        if image.image_kind == ImageKind::TileIr {
            save(&directory, "tile_ir", &name, &bytes)?;
        }
        if image.image_kind == ImageKind::PatchTokens {
            save(&directory, "patch_tokens", &name, &bytes)?;
        }
        let Some(triple) = image.triple else { continue };
        let arch = image.arch.as_deref().unwrap_or_default();

        let member = offload_binary::OffloadBinaryImage {
            image_kind: offload_binary::image_kind_of(image.image_kind),
            offload_kind: OffloadKind::OpenMp.bit(),
            flags: 0,
            strings: &[("triple", &*triple), ("arch", arch)],
            image: &bytes,
        };
        let [binary, two, three] = offload_binary::Version::ALL.map(|version| {
            let written = offload_binary::write(version, std::slice::from_ref(&member));
            written.expect("a fixture is small").content
        });
        let mut stream = Vec::new();
        let (header, padding) = offload_binary::compress(&three, Compression::new(Codec::Zstd), &mut stream)?;
        let compressed = [header, stream, padding].concat();
        let (binary, two) = (binary.to_vec(), two.to_vec());

        let id = format!("openmp-{triple}-{arch}");
        let bundle = bundle::write(&[(HOST_ID, &[]), (&id, &bytes)], 1).expect("a fixture is small").to_vec();

        for (container, file) in [("packed", &binary), ("two", &two), ("three", &compressed), ("bundle", &bundle)] {
            // Two bytes choose the edit.
            save(&directory, "rebuild", &format!("{name}.{container}"), &[b"\x01\x00", &file[..]].concat())?;
        }
        save(&directory, "device_elf", &name, &bytes)?;
        save(&directory, "inspect", &name, &bytes)?;
        save(&directory, "image_hashes", &name, &bytes)?;
        save(&directory, "archive", &format!("{name}.a"), &library(&[("one", &bytes), ("two", &bundle)]))?;
        save(&directory, "offload_binary", &name, &binary)?;
        save(&directory, "offload_binary", &format!("{name}-2"), &two)?;
        save(&directory, "offload_binary", &format!("{name}-3"), &compressed)?;
        save(&directory, "bundle", &name, &bundle)?;
        save(&directory, "embedded", &name, &bytes)?;
        save(&directory, "embedded", &format!("{name}.between"), &[b"before\0\0", &bytes[..], b"\0behind"].concat())?;
        for target in ["report", "selection"] {
            save(&directory, target, &name, &bundle)?;
            save(&directory, target, &format!("{name}.packed"), &binary)?;
        }
        for (codec, version) in [(Codec::Zstd, Version::Three), (Codec::Zlib, Version::Two)] {
            let ccob = compressed_bundle(&bundle, codec, version)?;
            save(&directory, "ccob", &format!("{name}.{}", codec.name()), &ccob)?;
            save(&directory, "scan", &format!("{name}.{}.ccob", codec.name()), &ccob)?;
        }
        save(
            &directory,
            "scan",
            &format!("{name}.raw"),
            &[b"before", &binary[..], b"between", &bundle, b"behind"].concat(),
        )?;

        // An archive of ocloc, whose members have the code of this file.
        let header = |member: &str| format!("{member:<16}0           0     0     644     {:<10}`\n", bytes.len());
        let odd: &[u8] = if bytes.len() % 2 == 1 { b"\n" } else { b"" };
        let member = |member: &str| [header(member).as_bytes(), &bytes[..], odd].concat();
        let archive = [b"!<arch>\n".to_vec(), member("64.12.55.8/"), member("64.dg2/"), member("generic_ir/")].concat();
        save(&directory, "ocloc_archive", &name, &archive)?;

        // A file that was embedded.
        let embedded = [&record("name", bytes.len() as u64, 64)[..], &bytes, b"\0after"].concat();
        save(&directory, "embed_record", &name, &embedded)?;
        save(&directory, "scan", &format!("{name}.embedded"), &[b"before", &embedded[..]].concat())?;

        // A host file with sections.
        for (form, ending) in [(EmbeddedForm::Raw, "raw"), (EmbeddedForm::OffloadBinary, "packed")] {
            let object = directory.join("scan").join(format!("{name}.{ending}.o"));
            let images = vec![ImageFile { path: path.clone(), target: TargetOverride::default() }];
            let options = WrapOptions { form, ..WrapOptions::new(OffloadKind::OpenMp, images, object) };
            wrap(&options).map_err(io::Error::other)?;
            let object = fs::read(&options.output)?;
            let device = NewSection { name: "__CLANG_OFFLOAD_BUNDLE__host-x86_64-unknown-linux-gnu-", content: b"\0" };
            let bundled = with_sections(View::new(&object), &[device]).map_err(io::Error::other)?.to_vec();
            save(&directory, "host_object", &format!("{name}.{ending}.o"), &object)?;
            save(&directory, "host_match", &format!("{name}.{ending}.o"), &object)?;
            save(&directory, "host_object", &format!("{name}.{ending}.bundled.o"), &bundled)?;
        }

        // The host object as bitcode.
        let images = vec![ImageFile { path: path.clone(), target: TargetOverride::default() }];
        let bitcode = directory.join("bitcode").join(format!("{name}.bc"));
        fs::create_dir_all(directory.join("bitcode"))?;
        wrap(&WrapOptions::new(OffloadKind::OpenMp, images, bitcode)).map_err(io::Error::other)?;

        // Host objects with a pointer to a container, and the container in Mach-O files.
        let kind = if arch.starts_with("sm_") { OffloadKind::Cuda } else { OffloadKind::Hip };
        // No runtime takes LTO-IR, and Intel's takes SPIR-V.
        if ["sm_", "gfx"].iter().any(|prefix| arch.starts_with(prefix)) && image.image_kind != ImageKind::Nvvm {
            let object = directory.join("scan").join(format!("{name}.wrapper.o"));
            let images = vec![ImageFile { path: path.clone(), target: TargetOverride::default() }];
            wrap(&WrapOptions::new(kind, images, object)).map_err(io::Error::other)?;
        }
        let thin = mach_o(&bundle);
        save(&directory, "scan", &format!("{name}.mach-o"), &thin)?;
        save(&directory, "scan", &format!("{name}.universal"), &universal(&thin))?;

        // A CUDA fat binary of the images that it supports.
        if let Ok(member) = cuda_fatbin::FatbinImage::new(View::new(&bytes), None) {
            let container = cuda_fatbin::write(&[member]).expect("a fixture is small").to_vec();
            save(&directory, "cuda_fatbin", &name, &container)?;
            save(&directory, "rebuild", &format!("{name}.fatbin"), &[b"\x02\x03", &container[..]].concat())?;
            save(&directory, "scan", &format!("{name}.fatbin"), &container)?;
        }

        // kpack archives of two versions of one code object.
        let properties =
            kpack::KpackProperties { group_name: "seeds", family: "gfx90a", arches: &["gfx90a", "gfx942"] };
        let members = ["gfx90a", "gfx942"].map(|arch| kpack::KpackMember { key: "lib/libx.so#0", arch, image: &bytes });
        for (suffix, level) in [("kpack", None), ("zstd.kpack", Some(3))] {
            let archive = kpack::write(&properties, &members, level)?.to_vec();
            save(&directory, "kpack", &format!("{name}.{suffix}"), &archive)?;
            save(&directory, "scan", &format!("{name}.{suffix}"), &archive)?;
        }
    }
    texts::save_all(|target, name, bytes| save(&directory, target, name, bytes))?;
    save(&directory, "lock", "units", LOCK_WITH_UNITS.as_bytes())?;
    save(&directory, "lock", "two", [LOCK_WITH_UNITS; 2].join("\0").replacen("sm_80", "sm_90", 1).as_bytes())?;
    let marker = kpack::KpackMarker { search_paths: vec!["../.kpack/x_@GFXARCH@.kpack"], kernel_name: "lib/libx.so" };
    save(&directory, "kpack", "marker", &marker.to_bytes())?;
    save(&directory, "host_object", "small.obj", COFF)?;
    save(&directory, "host_object", "big.obj", BIG_COFF)?;
    let texts = bundle::text::write(&[(HOST_ID, b"int a;"), ("hip-amdgcn-amd-amdhsa--gfx906", b"int b;\n")], "//");
    save(&directory, "bundle", "text.ii", &texts.to_vec())?;
    Ok(())
}

/// A static library with short names.
fn library(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut bytes = b"!<arch>\n".to_vec();
    for (name, content) in members {
        bytes.extend(
            format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 644, content.len())
                .replacen(' ', "/", 1)
                .into_bytes(),
        );
        bytes.extend_from_slice(content);
        bytes.resize(bytes.len().next_multiple_of(2), b'\n');
    }
    bytes
}

/// A lock with units: fields of all images, of one, and of one image for the same arch.
const LOCK_WITH_UNITS: &str = "fatbin.lock/2\n\nfile a.so size=77 stored=7\nunit kind=cuda in=a debug=none\n  \
    image sm_80 image=elf codec=zstd size=2 rest=00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n  \
    image sm_80 image=ptx\n  image - image=elf\n  \
    kernel _Z1kPi shared=9 demangled=- @sm_80 code_size=1 scratch=8+ @sm_80#2,#3 registers=2\n  \
    kernel k registers=3\nunit image=elf\n  image gfx90a:xnack+\n  kernel k @gfx90a:xnack+ vgprs=1\n";

/// COFF objects with one section of four bytes and a long name, one symbol and a string table, with both header forms.
#[rustfmt::skip]
const COFF: &[u8] = b"\x64\x86\x01\0\0\0\0\0\x40\0\0\0\x01\0\0\0\0\0\0\0\
    /4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x04\0\0\0\x3c\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x20\0\x50\x60code\
    symbol\0\0\0\0\0\0\x01\0\0\0\x02\0\x14\0\0\0.text$with_name\0";
#[rustfmt::skip]
const BIG_COFF: &[u8] = b"\0\0\xff\xff\x02\0\x64\x86\0\0\0\0\xc7\xa1\xba\xd1\xee\xba\xa9\x4b\xaf\x20\xfa\xf6\x6a\xa4\xdc\xb8\
    \0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\x64\0\0\0\x01\0\0\0\
    /4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x04\0\0\0\x60\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x20\0\x50\x60code\
    symbol\0\0\0\0\0\0\x01\0\0\0\0\0\x02\0\x14\0\0\0.text$with_name\0";

/// A Mach-O object for x86-64 with one section (mach-o/loader.h).
fn mach_o(content: &[u8]) -> Vec<u8> {
    const COMMAND: usize = 72 + 80;
    let size = content.len() as u32;
    let mut bytes = [0xfeed_facf_u32, 0x0100_0007, 3, 1, 1, COMMAND as u32, 0, 0].map(u32::to_le_bytes).concat();
    bytes.extend([0x19_u32, COMMAND as u32].map(u32::to_le_bytes).concat());
    bytes.extend([0; 16]);
    bytes.extend([0, size.into(), 32 + COMMAND as u64, size.into()].map(u64::to_le_bytes).concat());
    bytes.extend([7_u32, 7, 1, 0].map(u32::to_le_bytes).concat());
    bytes.extend(b"__hip_fatbin\0\0\0\0__HIP\0\0\0\0\0\0\0\0\0\0\0");
    bytes.extend([0, u64::from(size)].map(u64::to_le_bytes).concat());
    bytes.extend([32 + COMMAND as u32, 0, 0, 0, 0, 0, 0, 0].map(u32::to_le_bytes).concat());
    bytes.extend(content);
    bytes
}

/// A Mach-O file for one machine as one for several has it (mach-o/fat.h).
fn universal(thin: &[u8]) -> Vec<u8> {
    let words = [0xcafe_babe_u32, 1, 0x0100_0007, 3, 32, thin.len() as u32, 3, 0];
    [&words.map(u32::to_be_bytes).concat(), thin].concat()
}

fn compressed_bundle(bundle: &[u8], codec: Codec, version: Version) -> io::Result<Vec<u8>> {
    let mut stream = Vec::new();
    let written = ccob::compress(&Content::from(bundle), Compression::new(codec), version, &mut stream, &mut |_| ());
    Ok([written.map_err(io::Error::other)?.header, stream].concat())
}

fn save(directory: &Path, target: &str, name: &str, bytes: &[u8]) -> io::Result<()> {
    let directory = directory.join(target);
    fs::create_dir_all(&directory)?;
    fs::write(directory.join(name), bytes)
}

/// Returns an archive of compiled pipelines: a library, and machine code without load commands for a GPU.
fn metal_archive(library: &[u8]) -> Vec<u8> {
    let code = [&b"\xcf\xfa\xed\xfe\x13\0\0\x01\x12\x02\0\0\x0d\0\0\0"[..], &[0; 16]].concat();
    let [first, second] = [(0x0100_0017, 12, library.len() as u32), (0x0100_0013, 0x212, code.len() as u32)];
    let numbers = [0xcbfe_babe, 2, first.0, first.1, 48, first.2, 0, second.0, second.1, 48 + first.2, second.2, 0];
    [&numbers.map(u32::to_be_bytes).concat()[..], library, &code].concat()
}
