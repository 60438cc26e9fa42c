//! Random programs, compiled for the host and for the device: both must compute the same.

use cuda_sim::exec::{Checks, Grid, Memory, Options, Program, Schedule, launch};
use device_trials::{Arrangement, FAMILIES, PROGRAMS, Work};

/// Inputs of each program; a multiple of a warp.
const INPUTS: usize = 160;
const THREADS: u32 = 128;

/// The device's results for `work`, one piece per thread.
fn on_device(program: &Program, kernel: &str, work: &[Work], options: &Options) -> Vec<u64> {
    let memory = Memory::new(&[16 << 20]);
    let upload = |bytes: Vec<u8>| {
        let address = memory.alloc(0, bytes.len() as u64).unwrap();
        memory.write(address, &bytes).unwrap();
        address
    };
    let numbers = upload(work.iter().flat_map(|work| work.program.to_le_bytes()).collect());
    let inputs = upload(work.iter().flat_map(|work| work.input).flat_map(u64::to_le_bytes).collect());
    let results = memory.alloc(0, 8 * work.len() as u64).unwrap();
    let mut parameters: Vec<u8> = [numbers, inputs, results].iter().flat_map(|address| address.to_le_bytes()).collect();
    parameters.extend((work.len() as u32).to_le_bytes());
    let grid = Grid::linear((work.len() as u32).div_ceil(THREADS), THREADS);
    launch(program, kernel, grid, &parameters, &memory, 0, options).unwrap_or_else(|fault| panic!("{fault}"));
    let mut bytes = vec![0; 8 * work.len()];
    memory.read(results, &mut bytes).unwrap();
    bytes.as_chunks().0.iter().map(|&word| u64::from_le_bytes(word)).collect()
}

/// Runs every program on both sides and compares.
fn compare(arrangement: Arrangement, options: &Options) {
    let program = Program::load(PROGRAMS.ptx).unwrap();
    for family in FAMILIES {
        let work = family.work(arrangement, INPUTS);
        let got = on_device(&program, family.kernel, &work, options);
        family.judge(&work, &got).unwrap_or_else(|wrong| panic!("{}: {wrong}", family.kernel));
    }
}

#[test]
fn warps_of_one_program_compute_what_the_host_does() {
    compare(Arrangement::Together, &Options::default());
}

#[test]
fn lanes_of_different_programs_compute_what_the_host_does() {
    let options = Options { schedule: Schedule::Seeded(1), checks: Checks::sanitize(), ..Options::default() };
    compare(Arrangement::Mixed, &options);
}
