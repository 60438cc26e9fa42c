//! The shipped kernels on the executor of the simulated driver, one call at a time in separate
//! memory.

use std::{collections::HashMap, sync::LazyLock};

use bytemuck::{NoUninit, Pod};
use cuda_sim::exec::{self, Checks, Counters, Grid, Memory, Options, Program, Schedule};
use serde::Deserialize;

/// PTX and manifest of the modules.
pub(crate) const TEXTS: [(&str, &str); 2] = [
    (include_str!("../../../../kernels-ptx/ptx/fss.ptx"), include_str!("../../../../kernels-ptx/ptx/fss.json")),
    (
        include_str!("../../../../kernels-ptx/ptx/fss_bitsliced.ptx"),
        include_str!("../../../../kernels-ptx/ptx/fss_bitsliced.json"),
    ),
];

/// Bytes of the device's memory.
const CAPACITY: u64 = 1 << 30;

#[derive(Deserialize)]
struct KernelList {
    kernels: Vec<Entry>,
}

/// The manifest's entry for a kernel.
#[derive(Clone, Deserialize)]
struct Entry {
    name: String,
    block: [u32; 3],
    dynamic_shared: Option<u32>,
}

struct KernelModule {
    program: Program,
    entries: HashMap<String, Entry>,
}

static MODULES: LazyLock<[KernelModule; 2]> = LazyLock::new(|| {
    TEXTS.map(|(ptx, manifest)| {
        let manifest: KernelList = serde_json::from_str(manifest).unwrap();
        let entries = manifest.kernels.into_iter().map(|entry| (entry.name.clone(), entry)).collect();
        KernelModule { program: Program::load(ptx).unwrap(), entries }
    })
});

/// The module of a kernel.
fn module(kernel: &str) -> &'static KernelModule {
    MODULES.iter().find(|module| module.entries.contains_key(kernel)).unwrap()
}

/// Every order of turns, with every checker on.
pub(crate) fn schedules() -> [Options; 4] {
    [Schedule::Natural, Schedule::Reverse, Schedule::Seeded(1), Schedule::Seeded(2)].map(|schedule| Options {
        schedule,
        checks: Checks::sanitize(),
        ..Options::default()
    })
}

/// A call of a kernel under construction; arguments come in the order of its parameters.
pub(crate) struct KernelCall {
    kernel: &'static str,
    memory: Memory,
    params: Vec<u8>,
    given: usize,
    outputs: Vec<(u64, usize)>,
}

/// The result of a call.
pub(crate) struct Done {
    outputs: Vec<Vec<u8>>,
    pub(crate) counters: Counters,
}

impl KernelCall {
    pub(crate) fn new(kernel: &'static str) -> Self {
        let parameters = &module(kernel).program.kernel(kernel).unwrap().parameters;
        let bytes = parameters.last().map_or(0, |last| last.offset + last.bytes) as usize;
        Self { kernel, memory: Memory::new(&[CAPACITY]), params: vec![0; bytes], given: 0, outputs: Vec::new() }
    }

    /// Passes a plain value.
    pub(crate) fn value<T: NoUninit>(mut self, value: &T) -> Self {
        let parameter = module(self.kernel).program.kernel(self.kernel).unwrap().parameters[self.given];
        assert_eq!(size_of::<T>() as u64, parameter.bytes, "parameter {} of {}", self.given, self.kernel);
        self.params[parameter.offset as usize..][..size_of::<T>()].copy_from_slice(bytemuck::bytes_of(value));
        self.given += 1;
        self
    }

    /// Passes a buffer with this content.
    pub(crate) fn input<T: NoUninit>(self, content: &[T]) -> Self {
        let bytes = bytemuck::cast_slice(content);
        let address = self.place(bytes.len());
        if !bytes.is_empty() {
            self.memory.write(address, bytes).unwrap();
        }
        self.value(&address)
    }

    /// Passes a buffer of `len` elements that the kernel is to write.
    pub(crate) fn output<T>(mut self, len: usize) -> Self {
        let bytes = len * size_of::<T>();
        let address = self.place(bytes);
        self.outputs.push((address, bytes));
        self.value(&address)
    }

    /// The address of a new buffer; null for none.
    fn place(&self, bytes: usize) -> u64 {
        if bytes == 0 { 0 } else { self.memory.alloc(0, bytes as u64).unwrap() }
    }

    /// Runs the kernel and reads its outputs; it must have written every byte.
    pub(crate) fn run(self, grid: [u32; 3], options: &Options) -> Done {
        let module = module(self.kernel);
        let entry = &module.entries[self.kernel];
        let grid = Grid { grid, block: entry.block, dynamic_shared: entry.dynamic_shared.unwrap_or(0) };
        let launched = exec::launch(&module.program, self.kernel, grid, &self.params, &self.memory, 0, options);
        let counters = launched.unwrap_or_else(|fault| panic!("{} under {:?}: {fault}", self.kernel, options.schedule));
        let outputs = self.outputs.iter().map(|&(address, bytes)| self.read(address, bytes)).collect();
        Done { outputs, counters }
    }

    fn read(&self, address: u64, bytes: usize) -> Vec<u8> {
        let mut content = vec![0; bytes];
        if bytes > 0 {
            let unwritten = self.memory.first_unwritten(address, bytes as u64).unwrap();
            assert_eq!(unwritten, None, "{} left bytes of {address:#x} unwritten", self.kernel);
            self.memory.read(address, &mut content).unwrap();
        }
        content
    }
}

impl Done {
    /// The elements of output `index`.
    pub(crate) fn output<T: Pod>(&self, index: usize) -> Vec<T> {
        bytemuck::pod_collect_to_vec(&self.outputs[index])
    }
}
