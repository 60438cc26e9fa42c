//! The kernel of a program.
//!
//! This comprises its parameters, the position of each thread, and its manifest.

use std::collections::BTreeMap;

use core_types::params::air::AirParams;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{
    ProgramKind, ProgramSource, THREADS,
    assembly::{Address, Assembly, PtxWide, PtxWord},
    columns::ColumnReader,
    outputs::{OutputPlanes, OutputSum},
    steps::{OutputSink, StepTranslator},
};
use crate::ModuleText;

const PTX_VERSION: &str = "7.0";
const TARGET: &str = "sm_80";

/// Where threads without a position go.
const PAST: &str = "$L__past";

const ADDRESS_BYTES: usize = 8;

/// A parameter that is an address.
///
/// The fields are its name, the access to the memory there, and the type of its elements.
type Pointer = (&'static str, &'static str, &'static str);

/// The addresses that a kernel takes, in their order. Sizes follow.
const fn pointers(kind: ProgramKind) -> &'static [Pointer] {
    match kind {
        ProgramKind::Evaluate => &[
            ("masks", "read", "MaskAt"),
            ("vanishing_inverses", "read", "M31"),
            ("values", "read", "M31"),
            ("challenges", "read", "QM31"),
            ("powers", "read", "QM31"),
            ("sums", "write", "M31"),
        ],
        ProgramKind::Fractions => &[
            ("masks", "read", "MaskAt"),
            ("values", "read", "M31"),
            ("challenges", "read", "QM31"),
            ("fractions", "write", "M31"),
        ],
    }
}

/// The module of a program.
///
/// The text states no blocks that a multiprocessor is to run at once: told four, `ptxas` takes all
/// 128 registers, moves loads far ahead and spills; told nothing, it takes 44 for wide Fibonacci
/// and spills none.
pub(super) fn module(source: &ProgramSource<'_>, name: String) -> ModuleText {
    let (kernel, pointers) = (source.kind.kernel(), pointers(source.kind));
    let addresses: String =
        (0..pointers.len()).map(|k| format!("\t.param .u64 .ptr .align 4 {kernel}_param_{k},\n")).collect();
    let (sizes, bytes, body) = (pointers.len(), size_of::<AirParams>(), body(source));
    let ptx = format!(
        ".version {PTX_VERSION}\n.target {TARGET}\n.address_size 64\n\n\
         .visible .entry {kernel}(\n{addresses}\t.param .align 4 .b8 {kernel}_param_{sizes}[{bytes}]\n)\n\
         .maxntid {THREADS}, 1, 1\n{{\n{body}}}\n"
    );
    let manifest = manifest(&name, source.kind, &ptx).to_string();
    ModuleText { name: name.into(), ptx: ptx.into(), manifest: manifest.into() }
}

fn manifest(name: &str, kind: ProgramKind, ptx: &str) -> Value {
    let address = |(k, &(name, kind, element)): (usize, &Pointer)| {
        let (offset, size) = (ADDRESS_BYTES * k, ADDRESS_BYTES);
        json!({ "name": name, "kind": kind, "type": element, "offset": offset, "size": size, "align": size })
    };
    let pointers = pointers(kind);
    let mut params: Vec<Value> = pointers.iter().enumerate().map(address).collect();
    let (offset, size) = (ADDRESS_BYTES * pointers.len(), size_of::<AirParams>());
    params.push(json!({
        "name": "params", "kind": "value", "type": "AirParams", "offset": offset, "size": size, "align": 4,
    }));
    let sha256: String = Sha256::digest(ptx).iter().map(|byte| format!("{byte:02x}")).collect();
    json!({
        "module": name,
        "target": TARGET,
        "ptx_version": PTX_VERSION,
        "sha256": sha256,
        "kernels": [{
            "name": kind.kernel(),
            "params": params,
            "block": [THREADS, 1, 1],
            "min_blocks": 1,
            "dynamic_shared": null,
            "static_shared": 0,
        }],
    })
}

/// The instructions of the kernel.
fn body(source: &ProgramSource<'_>) -> String {
    let (kernel, pointers) = (source.kind.kernel(), pointers(source.kind));
    let mut a = Assembly::default();
    let log_rows = a.word("ld.param.b32", &[&format_args!("[{kernel}_param_{}]", pointers.len())]);
    let log_size = a.word("ld.param.b32", &[&format_args!("[{kernel}_param_{}+4]", pointers.len())]);
    let block = a.word("mov.u32", &[&"%ctaid.x"]);
    let thread = a.word("mov.u32", &[&"%tid.x"]);
    let position = a.word("mad.lo.s32", &[&block, &THREADS, &thread]);
    let one = a.word("mov.b32", &[&1]);
    let size = a.word("shl.b32", &[&one, &log_size]);
    let is_past = a.test("setp.ge.u32", &[&position, &size]);
    a.line(format_args!("@{is_past} bra {PAST}"));
    let mut address = |name: &str| -> PtxWide {
        let k = pointers.iter().position(|(known, ..)| *known == name).unwrap_or(pointers.len());
        let address = a.wide("ld.param.b64", &[&format_args!("[{kernel}_param_{k}]")]);
        a.wide("cvta.to.global.u64", &[&address])
    };
    let (masks, values, challenges) = (address("masks"), address("values"), address("challenges"));
    let columns =
        ColumnReader { position, size, log_rows, log_size, values, masks, row: None, places: BTreeMap::new() };
    let inverses = match source.kind {
        ProgramKind::Evaluate => Some((address("vanishing_inverses"), address("powers"))),
        ProgramKind::Fractions => None,
    };
    let first = address(if inverses.is_some() { "sums" } else { "fractions" });
    let place = a.wide("mad.wide.u32", &[&position, &4, &first]);
    let sink = match inverses {
        Some((_, powers)) => OutputSink::Sum(OutputSum::new(powers)),
        None => OutputSink::Planes(OutputPlanes { place, plane: size }),
    };
    let mut steps = StepTranslator {
        masks: source.masks,
        constants: source.constants,
        columns,
        challenges,
        sink,
        registers: Vec::new(),
    };
    source.instructions.iter().for_each(|&step| steps.step(&mut a, step));
    if let (OutputSink::Sum(sum), Some((inverses, _))) = (steps.sink, inverses) {
        let factor = inverse(&mut a, inverses, position, log_rows);
        sum.finish(&mut a, place, size, factor);
    }
    a.label(PAST);
    a.line("ret");
    a.finish()
}

/// The inverse of the vanishing polynomial at a position.
fn inverse(a: &mut Assembly, inverses: PtxWide, position: PtxWord, log_rows: PtxWord) -> PtxWord {
    let number = a.word("shr.u32", &[&position, &log_rows]);
    let place = a.wide("mad.wide.u32", &[&number, &4, &inverses]);
    a.word("ld.global.nc.b32", &[&Address(place, 0)])
}
