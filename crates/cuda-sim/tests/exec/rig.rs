//! Runs short kernels.

use cuda_sim::exec::{Counters, Fault, Grid, Memory, Options, Program, launch};

/// Wraps a kernel body in a module. Parameters are `p0`, `p1`, ..., 64 bits each.
pub(crate) fn module(params: usize, body: &str) -> String {
    let params: Vec<String> = (0..params).map(|i| format!(".param .u64 p{i}")).collect();
    let params = params.join(", ");
    format!(
        ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry k({params})\n{{\n\
         .reg .pred %p<8>;\n.reg .b16 %h<24>;\n.reg .b32 %r<40>;\n.reg .b64 %d<24>;\n{body}\n}}\n"
    )
}

/// One device of 64 MiB.
pub(crate) fn memory() -> Memory {
    Memory::new(&[64 << 20])
}

/// Bytes of a slice of words.
pub(crate) fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// A device buffer with these words.
pub(crate) fn upload(memory: &Memory, words: &[u32]) -> u64 {
    let address = memory.alloc(0, 4 * words.len() as u64).unwrap();
    memory.write(address, &bytes(words)).unwrap();
    address
}

/// The words of a device buffer.
pub(crate) fn download(memory: &Memory, address: u64, len: usize) -> Vec<u32> {
    let mut raw = vec![0; 4 * len];
    memory.read(address, &mut raw).unwrap();
    raw.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

/// Launches kernel `k` of `text`.
pub(crate) fn run(
    text: &str,
    grid: Grid,
    params: &[u64],
    memory: &Memory,
    options: &Options,
) -> Result<Counters, Box<Fault>> {
    let program = Program::load(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let params: Vec<u8> = params.iter().flat_map(|param| param.to_le_bytes()).collect();
    launch(&program, "k", grid, &params, memory, 0, options)
}
