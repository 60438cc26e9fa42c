//! Random programs, compiled for the host into this test and for the device into PTX: both must compute the same.
//!
//! `cargo xtask build-ptx` writes the programs and their PTX (see `kernels-ptx/src/differential`).
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod float;
#[allow(unused, clippy::all, reason = "random programs are not written for readers")]
#[rustfmt::skip]
#[path = "../../../../kernels-ptx/src/differential/programs/mod.rs"]
mod programs;

use std::collections::HashSet;

use cuda_sim::exec::{Checks, Grid, Memory, Options, Program, Schedule, launch};

const PTX: &str = include_str!("../../../../kernels-ptx/ptx/differential/programs.ptx");

/// Inputs of each program; a multiple of a warp.
const INPUTS: usize = 160;
const THREADS: u32 = 128;

/// Words that arithmetic tends to get wrong, as integers or as floats.
const EDGES: [u64; 24] = [
    0,
    1,
    2,
    31,
    32,
    64,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0x8000,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    u64::MAX,
    0x3f80_0000_3f80_0000,
    0x7f80_0000_0000_0001,
    0x7fc0_0000_ff80_0000,
    0x3ff0_0000_0000_0000,
    0xfff8_0000_0080_0000,
    0x4f00_0000_5f00_0000,
];

/// The finaliser of SplitMix64, as a source of test words.
fn word(seed: u64) -> u64 {
    let mut x = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Three words: edges, random bits, small numbers, or floats of moderate size.
fn input(program: u32, index: usize) -> [u64; 3] {
    let seed = u64::from(program) << 32 | (index as u64) << 4;
    [0, 1, 2].map(|which| {
        let bits = word(seed + which);
        match (index as u64 + which) % 4 {
            0 => EDGES[(bits % EDGES.len() as u64) as usize],
            1 => bits,
            2 => bits >> (bits % 64),
            _ if bits & 1 == 0 => f64::to_bits((bits >> 11) as f64 / (bits % 1000 + 1) as f64 - 1e14),
            _ => {
                let halves = [bits as u32, (bits >> 32) as u32].map(|half| (half as f32 / 1e6 - 2e3).to_bits());
                u64::from(halves[0]) << 32 | u64::from(halves[1])
            }
        }
    })
}

/// A family: its kernel, and its programs as the host runs them.
struct Family {
    kernel: &'static str,
    count: u32,
    run: fn(u32, u64, u64, u64) -> u64,
}

macro_rules! family {
    ($name:ident) => {
        Family {
            kernel: concat!("differential_", stringify!($name)),
            count: programs::$name::COUNT,
            run: programs::$name::run,
        }
    };
}

const FAMILIES: [Family; 9] = [
    family!(narrow),
    family!(words),
    family!(wide),
    family!(single),
    family!(double),
    family!(casts),
    family!(control),
    family!(arrays),
    family!(calls),
];

/// A program and its input.
type Work = (u32, [u64; 3]);

/// What the device makes of `work`, one piece per thread.
fn on_device(program: &Program, kernel: &str, work: &[Work], options: &Options) -> Vec<u64> {
    let memory = Memory::new(&[16 << 20]);
    let upload = |bytes: Vec<u8>| {
        let address = memory.alloc(0, bytes.len() as u64).unwrap();
        memory.write(address, &bytes).unwrap();
        address
    };
    let numbers = upload(work.iter().flat_map(|(number, _)| number.to_le_bytes()).collect());
    let inputs = upload(work.iter().flat_map(|(_, input)| input).flat_map(|word| word.to_le_bytes()).collect());
    let results = memory.alloc(0, 8 * work.len() as u64).unwrap();
    let mut parameters: Vec<u8> = [numbers, inputs, results].iter().flat_map(|address| address.to_le_bytes()).collect();
    parameters.extend((work.len() as u32).to_le_bytes());
    let grid = Grid::linear((work.len() as u32).div_ceil(THREADS), THREADS);
    launch(program, kernel, grid, &parameters, &memory, 0, options).unwrap_or_else(|fault| panic!("{fault}"));
    let mut bytes = vec![0; 8 * work.len()];
    memory.read(results, &mut bytes).unwrap();
    bytes.as_chunks().0.iter().map(|&word| u64::from_le_bytes(word)).collect()
}

/// Runs every program of a family on both sides and compares.
fn compare(family: &Family, arrange: impl Fn(u32) -> Vec<Work>, options: &Options) {
    let program = Program::load(PTX).unwrap();
    let work = arrange(family.count);
    let got = on_device(&program, family.kernel, &work, options);
    for (&(number, [a, b, c]), got) in work.iter().zip(got) {
        let expected = (family.run)(number, a, b, c);
        let kernel = family.kernel;
        assert_eq!(got, expected, "{kernel}, p{number}({a:#x}, {b:#x}, {c:#x}): got {got:#x}, expected {expected:#x}");
    }
}

/// The lanes of a warp run one program.
fn program_by_program(count: u32) -> Vec<Work> {
    (0..count).flat_map(|number| (0..INPUTS).map(move |index| (number, input(number, index)))).collect()
}

/// Neighbouring lanes run different programs.
fn mixed(count: u32) -> Vec<Work> {
    (0..INPUTS).flat_map(|index| (0..count).map(move |number| (number, input(number, index)))).collect()
}

#[test]
fn warps_of_one_program_compute_what_the_host_does() {
    for family in FAMILIES {
        compare(&family, program_by_program, &Options::default());
    }
}

#[test]
fn lanes_of_different_programs_compute_what_the_host_does() {
    let options = Options { schedule: Schedule::Seeded(1), checks: Checks::sanitize(), ..Options::default() };
    for family in FAMILIES {
        compare(&family, mixed, &options);
    }
}

#[test]
fn programs_depend_on_their_inputs() {
    let mut telling = 0;
    for family in FAMILIES {
        for number in 0..family.count {
            let results = (0..INPUTS).map(|index| {
                let [a, b, c] = input(number, index);
                (family.run)(number, a, b, c)
            });
            telling += u32::from(results.collect::<HashSet<_>>().len() > INPUTS / 8);
        }
    }
    let all: u32 = FAMILIES.iter().map(|family| family.count).sum();
    assert!(all >= 200 && telling * 10 >= all * 9, "{telling} of {all} programs tell inputs apart");
}
