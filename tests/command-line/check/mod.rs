//! `fatbin check`: every outcome of each rule, invalid policies, every report.

mod asked;
mod cases;
mod formats;
mod host_runtime;
mod init;
mod packages;
mod policies;
mod proofs;
mod situations;

use crate::{Run, Sandbox};

fn position(file: &[u8], bytes: &[u8]) -> usize {
    file.windows(bytes.len()).position(|window| window == bytes).unwrap()
}

impl Sandbox {
    /// Returns a directory with files for every rule.
    fn with_device_code() -> Sandbox {
        let sandbox = Sandbox::new();
        sandbox.fixture("answer-gfx90a.hsaco", "amd").fixture("answer-gfx90a-xnack+.hsaco", "xnack");
        sandbox.fixture("answer-sm_90.cubin", "sm90").fixture("answer-sm_80.ptx", "sm80.ptx");
        sandbox.fixture("answer.metallib", "air.metallib");
        sandbox.fixture("answer-gfx90a-debug.hsaco", "debug").file("text", "nothing here\n");
        sandbox.fatbin("wrap --kind openmp -o both.o amd sm90").ok();
        sandbox.fatbin("wrap --kind cuda -o cuda.o sm90 sm80.ptx").ok();
        sandbox.fatbin("wrap --kind hip -o hip.o amd").ok();
        let host = "--target host-x86_64-unknown-linux-gnu=/dev/null";
        let ids = "--target hipv4-amdgcn-amd-amdhsa--gfx90a=amd";
        sandbox.fatbin(&format!("bundle --raw --type o {host} {ids} -o plain.hipfb")).ok();
        let code = crate::fixture("answer-gfx90a.hsaco");
        let entries = [("host-x86_64-unknown-linux", &b""[..]), ("hip-amdgcn-amd-amdhsa--gfx90a", &code)];
        sandbox.file("short-id.hipfb", fatbin_core::format::bundle::write(&entries, 4096).unwrap().to_vec());
        for version in [2, 3] {
            let arguments = format!("--compress --format-version {version} {host} {ids} -o v{version}.hipfb");
            sandbox.fatbin(&format!("bundle --raw --type o {arguments}")).ok();
        }
        let subarch = "--id-style subarch --align 4096 --target hipv4-amdgcn-amd-amdhsa--gfx90a=amd";
        assert_eq!(sandbox.fatbin(&format!("bundle --raw --type o {host} {subarch} -o amdgpu.hipfb")).status, 0);
        let two = "--target hipv4-amdgcn-amd-amdhsa--gfx90a=amd --target hipv4-amdgcn-amd-amdhsa--gfx942=amd";
        sandbox.fatbin(&format!("bundle --raw --type o --compress {two} -o two.hipfb")).ok();
        sandbox.fatbin("pack -o twice amd amd").ok();
        sandbox.fatbin("pack --kind cuda --compress -o zstd.fatbin sm90 sm80.ptx").ok();
        sandbox.fatbin("pack -o with-debug debug").ok();
        sandbox.file("bits.bc", b"BC\xc0\xde and so on").file("junk", "what is this");
        sandbox.fatbin("pack -o bitcode --image file=bits.bc,triple=amdgcn-amd-amdhsa,arch=gfx90a").ok();
        sandbox.fatbin("pack -o nameless --image file=junk,triple=nvptx64-nvidia-cuda sm90").ok();
        let ptx = ".version 8.1\n.target sm_90\n.address_size 64\n.file 1 \"/home/me/kernel.cu\"\n.entry more() { bar.sync 0; ret; }\n";
        sandbox.file(
            "new.ptx",
            ".version 9.6\n.target sm_80\n.address_size 64\n.visible .entry k() { bar.sync 0; ret; }\n",
        );
        sandbox.fatbin("embed --symbols binary -o blobs.o sm90").ok();
        sandbox.file("more.ptx", ptx).fatbin("wrap --kind cuda -o more.o sm90 more.ptx").ok();
        sandbox.damaged();
        sandbox.proven();
        sandbox.packages();
        sandbox
    }

    /// Adds results of proven changes, and one that was changed afterwards.
    fn proven(&self) {
        self.file("cuda.whl", wheel(&[("lib/cuda.so", self.read("cuda.o"))]));
        for (from, to, proof) in [
            ("cuda.o", "pruned.o", "pruned.json"),
            ("cuda.o", "changed.o", "changed.json"),
            ("cuda.whl", "pruned.whl", "whl.json"),
        ] {
            self.fatbin(&format!("prune --device sm_90 --proof {proof} {from} -o {to}")).ok();
        }
        self.file("changed.o", self.read("cuda.o"));
    }

    /// Adds wheels with metadata.
    fn packages(&self) {
        let claim = |arch: &str| {
            format!(r#"{{ "variants": {{ "x": {{ "nvidia": {{ "sm_arch": ["80_virtual", "{arch}"] }} }} }} }}"#)
        };
        for (name, variant) in [("true", claim("90_real")), ("false", claim("86_real")), ("invalid", "[]".to_owned())] {
            let files = [("lib/a.so", self.read("cuda.o")), ("a-1.dist-info/variant.json", variant.into_bytes())];
            self.file(&format!("{name}.whl"), wheel(&files));
        }
    }

    /// Adds files with one defect each.
    fn damaged(&self) {
        let patch = |from: &str, to: &str, change: &dyn Fn(&mut Vec<u8>)| {
            let mut bytes = self.read(from);
            change(&mut bytes);
            self.file(to, bytes);
        };
        // The stored hash of a compressed bundle of version 3.
        patch("v3.hipfb", "wrong-hash.hipfb", &|bytes| bytes[24] ^= 1);
        // The image's target in the container.
        self.fatbin("pack -o packed amd").ok();
        patch("packed", "wrong-arch", &|bytes| {
            let at = position(bytes, b"gfx90a\0");
            bytes[at + 5] = b'6';
        });
        // The offset of the image's section headers.
        patch("packed", "cut", &|bytes| {
            let at = position(bytes, b"\x7fELF");
            bytes[at + 0x28..at + 0x30].copy_from_slice(&0x10_0000_u64.to_le_bytes());
        });
        // An unknown flag of the first entry.
        patch("cuda.o", "opaque.o", &|bytes| {
            let at = position(bytes, &[0x50, 0xed, 0x55, 0xba]);
            bytes[at + 16 + 42] |= 1;
        });
        // The kind of the same entry as well: scrambled LTO-IR.
        patch("opaque.o", "lto-ir.o", &|bytes| {
            let at = position(bytes, &[0x50, 0xed, 0x55, 0xba]);
            bytes[at + 16] = 8;
        });
        // The magic of the first compressed payload.
        patch("zstd.fatbin", "no-frame.fatbin", &|bytes| {
            let at = position(bytes, b"\x28\xb5\x2f\xfd");
            bytes[at] = 0;
        });
        // The name of a library that host code would load.
        patch("cuda.o", "old-runtime.o", &|bytes| bytes.extend(b"\0libcudart.so.12\0"));
        // The architecture in a cubin's header.
        patch("sm90", "sm100", &|bytes| bytes[0x31] = 100);
        self.file("broken", [0x10, 0xff, 0x10, 0xad]);
    }

    /// Checks files against a policy.
    fn check(&self, policy: &str, files: &str) -> Run {
        self.file("policy.toml", policy).fatbin(&format!("check --policy policy.toml {files}"))
    }
}

/// Returns a wheel with these files.
pub fn wheel(files: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in files {
        writer.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        std::io::Write::write_all(&mut writer, bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}
