//! Writes bundles and host objects with oxide-artifacts, or prints the bundles that it reads from a file.

use oxide_artifacts::*;

const HOST: &str = "x86_64-unknown-linux-gnu";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("read") => {
            let bytes = std::fs::read(&arguments[1]).unwrap();
            for bundle in read_artifact_bundles_from_object_bytes(&bytes).unwrap() {
                let OwnedArtifactBundle { name, target, compile_options, payloads, entries } = bundle;
                println!("{name} {target} {compile_options:?}");
                for payload in payloads {
                    let sum = payload.bytes.iter().fold(0_u32, |sum, &byte| sum.wrapping_mul(31) + u32::from(byte));
                    println!("  {:?} {} {} {sum}", payload.kind, payload.name, payload.bytes.len());
                }
                for entry in entries {
                    println!("  {:?} {} {:?}", entry.kind, entry.symbol, entry.metadata);
                }
            }
        }
        _ => {
            let [ptx, cubin] = [&arguments[0], &arguments[1]].map(|path| std::fs::read(path).unwrap());
            let answer = ArtifactBundleSpec::new("answer", "sm_90")
                .with_compile_options(
                    ArtifactCompileOptions::new()
                        .with_fma_contraction(false)
                        .with_debug_policy(ArtifactDebugPolicy::LineTables),
                )
                .with_payload(ArtifactPayloadSpec::new(
                    ArtifactPayloadKind::Ptx,
                    "answer.ptx",
                    b".version 8.0\n.target sm_90\n",
                ))
                .with_payload(ArtifactPayloadSpec::new(
                    ArtifactPayloadKind::NvvmIr,
                    "answer.ll",
                    b"; ModuleID = 'answer'\n",
                ))
                .with_payload(ArtifactPayloadSpec::new(ArtifactPayloadKind::Ltoir, "answer.ltoir", b"\xed\x43\x4e\x7f"))
                .with_payload(ArtifactPayloadSpec::new(ArtifactPayloadKind::Cubin, "answer.cubin", b"\x7fELF not one"))
                .with_entry(ArtifactEntrySpec::new("answer_kernel", ArtifactEntryKind::Kernel))
                .with_entry(ArtifactEntrySpec::new("helper", ArtifactEntryKind::DeviceFunction).with_metadata(7));
            std::fs::write("answer.oxart", build_artifact_blob(&answer).unwrap()).unwrap();
            let both = ArtifactBundleSpec::new("library", "sm_90")
                .with_payload(ArtifactPayloadSpec::new(ArtifactPayloadKind::Ptx, "a.ptx", &ptx))
                .with_payload(ArtifactPayloadSpec::new(ArtifactPayloadKind::Cubin, "a.cubin", &cubin))
                .with_entry(ArtifactEntrySpec::new("answer_kernel", ArtifactEntryKind::Kernel));
            let one = ArtifactBundleSpec::new("program", "sm_90")
                .with_payload(ArtifactPayloadSpec::new(ArtifactPayloadKind::Cubin, "b.cubin", &cubin));
            let both = build_host_object_for_target(&build_artifact_blob(&both).unwrap(), HOST, Some("anchor")).unwrap();
            std::fs::write("both.o", both).unwrap();
            let one = build_host_object_for_target(&build_artifact_blob(&one).unwrap(), HOST, None).unwrap();
            std::fs::write("one.o", one).unwrap();
        }
    }
}
