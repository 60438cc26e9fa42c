//! Runs short kernels.

use cuda_sim::exec::{Counters, FaultKind, Grid, LaunchFault, Memory, Options, Program, Schedule, Space, launch};

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
) -> Result<Counters, Box<LaunchFault>> {
    let program = Program::load(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let params: Vec<u8> = params.iter().flat_map(|param| param.to_le_bytes()).collect();
    launch(&program, "k", grid, &params, memory, 0, options)
}

/// The words that a launch leaves in a buffer of `len` words, after buffers with `inputs` the last parameter.
pub(crate) fn results(
    text: &str,
    grid: Grid,
    inputs: &[&[u32]],
    len: usize,
    options: &Options,
) -> Result<Vec<u32>, Box<LaunchFault>> {
    let memory = memory();
    let mut params: Vec<u64> = inputs.iter().map(|words| upload(&memory, words)).collect();
    let out = memory.alloc(0, 4 * len as u64).unwrap();
    params.push(out);
    run(text, grid, &params, &memory, options)?;
    Ok(download(&memory, out, len))
}

/// The words that a launch leaves of these, which its only parameter points to.
pub(crate) fn in_place(text: &str, grid: Grid, words: &[u32], options: &Options) -> Result<Vec<u32>, Box<LaunchFault>> {
    let memory = memory();
    let data = upload(&memory, words);
    run(text, grid, &[data], &memory, options)?;
    Ok(download(&memory, data, words.len()))
}

/// Every checker, with warps and blocks in several orders.
pub(crate) fn checked_orders() -> Vec<Options> {
    let seeded = (1..5).map(Schedule::Seeded);
    let orders = [Schedule::Natural, Schedule::Reverse].into_iter().chain(seeded);
    orders.map(|schedule| Options { schedule, cooperative: true, ..Options::sanitize() }).collect()
}

/// As [`module`] with one parameter. `%d0` points to the buffer; `%r0` is the index of the thread in its block, `%r1` the
/// index of the block, `%r2` the index of the thread in the grid, and `%d1` points to the word of the thread in the grid.
pub(crate) fn indexed(body: &str) -> String {
    let start = "ld.param.u64 %d0, [p0];
        mov.u32 %r0, %tid.x;
        mov.u32 %r1, %ctaid.x;
        mov.u32 %r2, %ntid.x;
        mad.lo.u32 %r2, %r1, %r2, %r0;
        mul.wide.u32 %d1, %r2, 4;
        add.s64 %d1, %d1, %d0;";
    module(1, &format!("{start}{body}"))
}

/// The checkers' verdict on kernel `body`, completed by [`indexed`], in one order, on a buffer with these words.
pub(crate) fn verdict(body: &str, grid: Grid, words: &[u32], options: &Options) -> Option<FaultKind> {
    in_place(&indexed(body), grid, words, options).err().map(|fault| fault.kind)
}

/// The kernel holds in every order.
pub(crate) fn silent(name: &str, body: &str, grid: Grid, words: &[u32]) {
    for options in checked_orders() {
        let said = verdict(body, grid, words, &options);
        assert_eq!(said, None, "{name}, {:?}", options.schedule);
    }
}

/// The kernel is reported in every order, as `expected` checks.
pub(crate) fn reported(name: &str, body: &str, grid: Grid, words: &[u32], expected: impl Fn(&FaultKind) -> bool) {
    for options in checked_orders() {
        let said = verdict(body, grid, words, &options);
        assert!(said.as_ref().is_some_and(&expected), "{name}, {:?}: {said:?}", options.schedule);
    }
}

/// The kernel is reported as a race on `space` in every order.
pub(crate) fn races(name: &str, space: Space, body: &str, grid: Grid, words: &[u32]) {
    let is_race = |kind: &FaultKind| matches!(kind, FaultKind::Race { space: on, .. } if *on == space);
    reported(name, body, grid, words, is_race);
}
