//! The drop-in as the tool of an older release: its options, IDs, defaults and messages.

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;

use super::{make_files, same};
use crate::dropin::{Call, DirectoryEntry, Pair, Side};
use crate::harness::step::Step;
use crate::harness::tools::{Tool, llvm_tool};
use crate::harness::trial::{completion, fresh_directory};

/// Releases with a tool to compare with.
const RELEASES: [&str; 4] = ["14", "15", "16", "19"];

/// Calls that bundle two files.
const BUNDLES: [&str; 16] = [
    "-type=bc -targets=host-x86_64-unknown-linux,hipv4-amdgcn-amd-amdhsa--gfx906 -bundle-align=4096",
    "-type=bc -targets=host-x86_64-unknown-linux-gnu,hip-amdgcn-amd-amdhsa-gfx906",
    "-type=bc -targets=host-x86_64-linux-gnu,openmp-nvptx64-nvidia-cuda-sm_70",
    "-type=bc -targets=host-x86_64-unknown-linux,openmp-amdgcn-amd-amdhsa--gfx90a:xnack+",
    "-type=bc -targets=hip-amdgcn-amd-amdhsa-gfx906,hip-amdgcn-amd-amdhsa-gfx90a:xnack+:sramecc-",
    "-type=bc -targets=hip-amdgcn-amd-amdhsa-unknown-gfx906,hip-amdgcn-amd-amdhsa",
    "-type=bc -targets=hip-amdgcn-amdhsa-gfx906:sramecc+:xnack+,hip-amdgcn-amdhsa-gfx908:sramecc-:xnack+",
    "-type=bc -targets=hip-amdgcn-gfx906,host-x86_64-linux",
    "-type=bc -targets=hip-nvptx64-cuda-sm_70,hip-nvptx64-cuda-sm_80",
    "-type=bc -targets=hip-amdgcn-amd-amdhsa--gfx940,hip-spirv64-amd-amdhsa-amdgcnspirv",
    "-type=ii -targets=host-x86_64-unknown-linux-gnu,hip-amdgcn-amd-amdhsa-gfx906",
    "-type=cui -targets=hip-amdgcn-amd-amdhsa-gfx906,host-x86_64-pc-linux-gnu",
    "-type=ll -targets=host-x86_64-unknown-linux,openmp-amdgcn-amd-amdhsa-gfx906",
    "-type=gch -targets=host-powerpc64le-ibm-linux-gnu,openmp-powerpc64le-ibm-linux-gnu",
    "-type=o -targets=host-x86_64-unknown-linux,hip-amdgcn-amd-amdhsa-gfx906",
    "-type=o -bundle-align=512 -targets=hip-amdgcn-amd-amdhsa-gfx906,hip-amdgcn-amd-amdhsa-gfx90a",
];

/// Targets of the documentation's command for archives, with triples of two parts.
const ARCHIVED: &str =
    "-targets=openmp-amdgcn-amdhsa-gfx906:sramecc+:xnack+,openmp-amdgcn-amdhsa-gfx908:sramecc-:xnack+";

/// Other calls, which fail in some of the releases or in all of them.
const LINES: [&str; 29] = [
    "--help",
    "-type=bc",
    "-type=bc -h",
    "-type=bc -input=../text",
    "-type=bc -input=../text -output=x",
    "-type=bc -input=../text -output=x -targets=host",
    "-type=bc -input=../text -output=x -targets=foo",
    "-type=bc -input=../text -output=x -targets=",
    "-type=bc -input=../text -output=x -targets=foo-bar-a-b-c-d-e",
    "-type=bc -input=../text -output=x -targets=hip--amdgcn-amd-amdhsa--gfx906",
    "-type=bc -input=../text -output=x -targets=host-foo-unknown-linux",
    "-type=bc -input=../text -output=x -targets=hip-amdgpu9.0a-amd-amdhsa--gfx90a",
    "-type=bc -input=../text -output=x -targets=cuda-nvptx64-nvidia-cuda-sm_70",
    "-type=bc -input=../text -input=../text -output=x -targets=host-x86_64-unknown-linux,host-x86_64-unknown-linux",
    "-type=bc -input=../text -input=../text -output=x -targets=host-x86_64-unknown-linux,host-aarch64-unknown-linux",
    "-type=bc -input=../text -input=../text -output=x -targets=hip-amdgcn-amd-amdhsa-gfx906,hip-amdgcn-amd-amdhsa-gfx906:xnack+",
    "-type=bc -input=../text -output=x -targets=openmp-amdgcn-amd-amdhsa-gfx906",
    "-type=hipi -input=../text -output=x -targets=host-x86_64-unknown-linux",
    "-type=bc -input=../text -output=x -targets=host-x86_64-unknown-linux -hip-openmp-compatible",
    "-type=bc -input=../large -output=x -targets=host-x86_64-unknown-linux -compress",
    "-type=bc -input=../large -output=x -targets=host-x86_64-unknown-linux -compress -compression-level=9",
    "-type=a -unbundle -input=../text -output=x -targets=hip-amdgcn-amd-amdhsa-gfx906 -check-input-archive",
    "-type=a -unbundle -input=../text -output=x -targets=hip-amdgcn-amd-amdhsa-gfx906",
    "-type=bc -unbundle -input=../text -output=x -output=y -targets=host-x86_64-unknown-linux,hip-amdgcn-amd-amdhsa-gfx906",
    "-type=bc -unbundle -input=../text -output=x -targets=host-x86_64-unknown-linux -allow-missing-bundles",
    "-type=bc -list -input=../text -verbose",
    "-type=bc -list -input=../large -verbose",
    "-type=bc -list -unbundle -input=../text",
    "-type=zz -list -input=../text",
];

/// Environment variables that only some of the releases read.
const VARIABLES: [(&str, &str); 3] = [
    ("OFFLOAD_BUNDLER_COMPRESS", "1"),
    ("OFFLOAD_BUNDLER_COMPRESSION_LEVEL", "x"),
    ("COMPRESSED_BUNDLE_FORMAT_VERSION", "3"),
];

/// Spellings of two targets by different compilers and scripts.
const SPELLINGS: [&str; 5] = [
    "host-x86_64-unknown-linux",
    "host-x86_64-unknown-linux-",
    "hip-amdgcn-amd-amdhsa-gfx906",
    "hip-amdgcn-amd-amdhsa--gfx906",
    "hip-amdgcn-amd-amdhsa-unknown-gfx906",
];

pub fn trials() -> Vec<Trial> {
    let mut trials: Vec<Trial> = RELEASES
        .into_iter()
        .map(|release| trial(format!("release-{release}"), move |name| behaves_as(name, release)))
        .collect();
    trials.push(trial("release-unspecified".to_owned(), accepts_every_form));
    trials
}

fn trial(name: String, run: impl FnOnce(&str) -> Result<()> + Send + 'static) -> Trial {
    Trial::ignorable_test(format!("dropin/bundling/{name}"), move || completion(run(&name)))
}

fn pair(name: &str, release: &'static str, specified: Option<&'static str>) -> Result<Pair> {
    Tool::Objcopy.path()?;
    let tool = llvm_tool("clang-offload-bundler", release, &format!("clang-tools-{release}"))?;
    let directory = fresh_directory("dropin-bundling-releases", name)?;
    make_files(&directory)?;
    Pair::new(&directory, "clang-offload-bundler", &tool).map(|pair| pair.of_release(specified))
}

/// Spells the options for the files as the release does.
fn line(release: &str, files: &str) -> String {
    let mut line = files.to_owned();
    if release == "14" {
        for option in ["-input=", "-output="] {
            let values: Vec<&str> = files.split(' ').filter_map(|word| word.strip_prefix(option)).collect();
            line = line.split(' ').filter(|word| !word.starts_with(option)).collect::<Vec<_>>().join(" ");
            if !values.is_empty() {
                line += &format!(" {}s={}", option.trim_end_matches('='), values.join(","));
            }
        }
    }
    line
}

fn behaves_as(name: &str, release: &'static str) -> Result<()> {
    let pair = pair(name, release, Some(release))?;
    for call in LINES {
        let call = line(release, call);
        let (theirs, ours) = pair.both(&Call::line(&call))?;
        if theirs.err.contains("Did you mean") {
            // Of several suggestions at the same distance, a release prints the first in the order of its hash map.
            let [one, other] = [&theirs, &ours].map(|result| (result.status, result.err.lines().next()));
            ensure!(one == other, "{}", pair.difference(&Call::line(&call), &theirs, &ours));
        } else {
            same::calls(&pair, &Call::line(&call))?;
        }
    }
    let good = line(release, "-type=bc -targets=host-x86_64-unknown-linux -input=../large -output=x");
    same::calls(&pair, &Call { variables: VARIABLES.to_vec(), ..Call::line(&good) })?;
    for bundle in BUNDLES {
        let is_object = bundle.starts_with("-type=o -targets=host");
        let input = if is_object { "../host.o" } else { "../text" };
        let call = line(release, &format!("{bundle} -input={input} -input=../large -output=x"));
        let (theirs, ours) = same::calls(&pair, &Call::line(&call))?;
        for (side, result) in [(Side::Theirs, &theirs), (Side::Ours, &ours)] {
            let Some(DirectoryEntry::File { bytes, .. }) = result.left.get("x") else {
                anyhow::bail!("{call}: {}", result.err)
            };
            let file = format!("{side:?}.bundle");
            std::fs::write(pair.directory.join(&file), bytes)?;
            // Until LLVM 16, the host's object keeps the sections of the bundle.
            let wanted = if is_object { bundle.replace("host-x86_64-unknown-linux,", "") } else { bundle.to_owned() };
            let outputs = if is_object { "-output=x" } else { "-output=x -output=y" };
            let unbundle = format!("{wanted} -unbundle -input=../{file} {outputs}");
            let (result, _) = same::calls(&pair, &Call::line(&line(release, &unbundle)))?;
            ensure!(result.status == 0, "{unbundle}: {}", result.err);
            // Releases disagree on the extension of members for processors that they do not know.
            if !bundle.contains("host-") && !bundle.contains("gfx940") && file == "Theirs.bundle" {
                is_taken_from_an_archive(&pair, release, bundle, &file)?;
            }
            let file_type = bundle.split(' ').next().context("no type")?;
            same::calls(&pair, &Call::line(&line(release, &format!("{file_type} -list -input=../{file}"))))?;
        }
    }
    Ok(())
}

/// Checks that the targets of a bundle, and others with short triples, are taken from an archive as the tool takes them.
fn is_taken_from_an_archive(pair: &Pair, release: &str, bundle: &str, file: &str) -> Result<()> {
    let own = bundle.split(' ').find(|word| word.starts_with("-targets=")).context("no targets")?;
    std::fs::copy(pair.directory.join(file), pair.directory.join("member"))?;
    Step::new(&pair.directory, Tool::Ar.path()?).args(["rcD", "archive.a", "member"]).run()?;
    for targets in [own, ARCHIVED] {
        let call =
            format!("-type=a -unbundle {targets} -allow-missing-bundles -input=../archive.a -output=x -output=y");
        let (result, _) = same::calls(pair, &Call::line(&line(release, &call)))?;
        ensure!((result.status, result.left.len()) == (0, 2), "{call}: {}", result.err);
    }
    Ok(())
}

/// Checks that a drop-in of no particular release unbundles what any release bundles, by every spelling of the target.
fn accepts_every_form(name: &str) -> Result<()> {
    for release in RELEASES {
        let pair = pair(name, release, None)?;
        for stored in SPELLINGS {
            if release == "19" && stored.ends_with('-') {
                // The tool appends the whole name.
                continue;
            }
            let call = format!("-type=bc -targets={stored} -input=../text -output=x");
            let ours = pair.call(Side::Ours, &Call::line(&call))?;
            ensure!((ours.status, ours.err.as_str()) == (0, ""), "{call}: {}", ours.err);
            let theirs = pair.call(Side::Theirs, &Call::line(&line(release, &call)))?;
            let Some(DirectoryEntry::File { bytes, .. }) = theirs.left.get("x") else {
                anyhow::bail!("{call}: {}", theirs.err)
            };
            std::fs::write(pair.directory.join("bundle"), bytes)?;
            for requested in SPELLINGS {
                let call = format!("-type=bc -unbundle -targets={requested} -input=../bundle -output=x");
                let ours = pair.call(Side::Ours, &Call::line(&call))?;
                let is_found = stored[..3] == requested[..3];
                ensure!((ours.status == 0) == is_found, "{stored} of {release}: {call}: {}", ours.err);
            }
        }
    }
    Ok(())
}
