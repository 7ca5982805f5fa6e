//! Properties of random locks: the text is read back, in both versions, and a comparison is the same from either.

use super::*;

struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % end
    }

    fn pick<T: Clone>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())].clone()
    }

    /// One of the values, or in one of four cases none.
    fn maybe<T: Clone>(&mut self, values: &[T]) -> Option<T> {
        if self.below(4) == 0 { None } else { Some(self.pick(values)) }
    }

    fn text(&mut self, values: &[&str]) -> Option<String> {
        self.maybe(values).map(str::to_owned)
    }
}

const NAMES: [&str; 12] = [
    "_Z5saxpyPfi",
    "_Z4fillPf",
    "_ZN1n1fIfEEvv",
    "_ZN1n1fIdEEvv",
    "k",
    "@k",
    "a b",
    "-",
    "",
    "_Zx",
    "__nv_static_25__debbe712_4_k_cu_3c7ab8be__Z4statPi",
    "__nv_static_25__acb73014_4_k_cu_3c7ab8be__Z4statPi",
];

fn random_kernel(random: &mut Random) -> LockedKernel {
    let name = random.pick(&NAMES);
    let name = match random.below(8) {
        0 => KernelName::with_demangled(name, random.maybe(&["x", "-", "saxpy(float*, int)"])),
        _ => KernelName::new(name),
    };
    let mut usage = KernelUsage::default();
    for figure in &mut usage.figures {
        *figure = random.maybe(&[0, 0, 0, 1, u64::MAX]);
    }
    usage.scratch_is_minimum = usage.figures[7].is_some() && random.below(3) == 0;
    LockedKernel { name, usage: Arc::new(usage), code: None }
}

fn random_image(random: &mut Random, kernels: &[LockedKernel]) -> LockedImage {
    let mut own = Vec::new();
    for kernel in kernels.iter().filter(|_| random.below(8) > 0).collect::<Vec<_>>() {
        own.push(if random.below(3) == 0 { random_kernel(random) } else { kernel.clone() });
        if random.below(10) == 0 {
            own.push(own[0].clone());
        }
    }
    let hash = |random: &mut Random| random.maybe(&[[1; 32], [2; 32], [0xab; 32]]);
    LockedImage {
        target: LockedTarget {
            arch: random.text(&["sm_80", "sm_80", "sm_90", "gfx90a:xnack+", "-", "", "a,b", "x y", "sm_80#2"]),
            kind: random.text(&["hip", "cuda"]),
            image: random.pick(&["elf", "elf", "ptx"]).to_owned(),
            triple: random.text(&["t", "t t"]),
        },
        kernels: own,
        container_path: random.text(&["a>b", "ccob"]),
        codec: random.text(&["zstd", "none"]),
        stored: random.maybe(&[1, 2]),
        size: random.maybe(&[100, 200]),
        debug: random.text(&["none", "full"]),
        sha256: hash(random),
        code: hash(random),
        rest: None,
        parts: None,
    }
}

fn random_lock(random: &mut Random) -> Lock {
    let mut files = Vec::new();
    for _ in 0..random.below(3) {
        let mut images = Vec::new();
        for _ in 0..random.below(4) {
            let kernels: Vec<LockedKernel> = (0..random.below(5)).map(|_| random_kernel(random)).collect();
            images.extend((0..random.below(4)).map(|_| random_image(random, &kernels)).collect::<Vec<_>>());
        }
        let path = random.pick(&["a.so", "b/a.so", "c d"]).to_owned();
        let size = random.maybe(&[9, 10]);
        let stored = random.maybe(&[5, 6]);
        files.push(LockedFile { path, size, stored, images, order: None });
    }
    Lock::new(files)
}

#[test]
fn random_locks_are_read_back_and_compare_equally() {
    let mut random = Random(1);
    let mut differing = 0;
    let mut units = 0;
    let mut previous = random_lock(&mut random);
    for _ in 0..1000 {
        let lock = random_lock(&mut random);
        let text = write(&lock);
        let read_back = read(text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}"));
        assert_eq!(read_back, lock, "{text}");
        assert_eq!(write(&read_back), text);
        for code_only in [false, true] {
            let expected = compare(&previous, &lock, code_only);
            let other = read(write(&previous).as_bytes()).unwrap();
            assert_eq!(compare(&other, &read_back, code_only), expected);
            differing += expected.files.len();
        }
        units += usize::from(text.matches("\nunit").count() < lock.images().count());
        let mut with_rest = lock.clone();
        for image in with_rest.files.iter_mut().flat_map(|file| &mut file.images) {
            image.rest = random.maybe(&[[7; 32], [8; 32]]);
            for kernel in &mut image.kernels {
                kernel.code = random.maybe(&[[1; 8], [2; 8]]);
            }
        }
        let with_rest = Lock::new(with_rest.files);
        assert_eq!(read(write(&with_rest).as_bytes()).as_ref(), Ok(&with_rest));
        previous = lock;
    }
    assert!(differing > 1000 && units > 300, "{differing} {units}");
}
