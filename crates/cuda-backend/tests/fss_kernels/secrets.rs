//! Which addresses and branches of the shipped kernels follow from secrets, read off their text.
//!
//! A value that a kernel loads through a pointer parameter follows from it, and so does every value
//! computed from that, on any path. Points are public, the parameter record holds shapes and public
//! AES keys; all other inputs of kernels of keys are secret. The record of a seed begins with its
//! secret key and counter.

use core::{mem::offset_of, ops::Range};
use std::sync::LazyLock;

use core_types::params::fss::SeedParams;

use ptx::ast::{AddressBase, Body, Instruction, Module, Operand, Symbol};

use crate::fss_kernels::device::TEXTS;

static MODULES: LazyLock<[Module; 3]> = LazyLock::new(|| {
    let [fss, bitsliced] = TEXTS.map(|(ptx, _)| ptx);
    let tensor = include_str!("../../../../kernels-ptx/ptx/tensor.ptx");
    [fss, bitsliced, tensor].map(|ptx| ptx::parse(ptx).unwrap())
});

/// A set of parameters, a bit for each.
type Params = u32;

/// The sources of a register's values.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct ValueSources {
    /// Parameters themselves.
    params: Params,
    /// What lies in the memory that these parameters point to.
    contents: Params,
}

impl ValueSources {
    fn with(self, other: Self) -> Self {
        Self { params: self.params | other.params, contents: self.contents | other.contents }
    }
}

/// The origins of each register of a body and of its stores to shared memory, on any path and in
/// any order.
struct Origins {
    registers: Vec<ValueSources>,
    shared: ValueSources,
    /// Bytes of the first parameter that count as memory that it points to.
    record: Range<i64>,
}

impl Origins {
    fn of(body: &Body, record: Range<i64>) -> Self {
        let registers = vec![ValueSources::default(); body.registers.len()];
        let mut origins = Self { registers, shared: ValueSources::default(), record };
        let mut changed = true;
        while changed {
            changed = false;
            for instruction in &body.instructions {
                changed |= origins.take_in(instruction);
            }
        }
        origins
    }

    /// What an instruction reads, the predicate under which it runs included.
    fn read(&self, instruction: &Instruction) -> ValueSources {
        let guard = instruction.guard.map(|guard| guard.register);
        let mut read = ValueSources::default();
        for register in instruction.sources().chain(guard) {
            read = read.with(self.registers[register.0 as usize]);
        }
        for operand in &instruction.operands {
            let (symbol, offset) = match operand {
                Operand::Symbol { symbol, .. } => (Some(symbol), None),
                Operand::Address(address) => match &address.base {
                    AddressBase::Symbol(symbol) => (Some(symbol), Some(address.offset)),
                    AddressBase::Reg(_) | AddressBase::Absolute => (None, None),
                },
                _ => (None, None),
            };
            if let Some(Symbol::Param(index)) = symbol {
                read.params |= 1 << index;
                // a record whose address is taken counts whole
                if *index == 0 && !self.record.is_empty() && offset.is_none_or(|at| self.record.contains(&at)) {
                    read.contents |= 1;
                }
            }
        }
        read
    }

    /// Adds the effects of `instruction`. Returns whether they were new.
    fn take_in(&mut self, instruction: &Instruction) -> bool {
        let (read, opcode) = (self.read(instruction), &instruction.opcode);
        let result = match opcode.base() {
            "ld" if opcode.has("param") => read,
            "ld" if opcode.has("shared") => read.with(self.shared),
            "ld" => ValueSources { params: 0, contents: read.contents | read.params },
            _ => read,
        };
        let mut changed = false;
        let mut add = |known: &mut ValueSources, more: ValueSources| {
            changed |= known.with(more) != *known;
            *known = known.with(more);
        };
        for register in instruction.destinations() {
            add(&mut self.registers[register.0 as usize], result);
        }
        if opcode.base() == "st" && opcode.has("shared") {
            add(&mut self.shared, read);
        }
        changed
    }
}

/// The kinds of memory accesses and branches of `kernel` that follow from the memory that `secret` parameters point to.
fn following_from(kernel: &str, secret: Params) -> Vec<String> {
    following_from_record(kernel, secret, 0..0)
}

/// [`following_from`], where the bytes `record` of the first parameter count as memory that it points to.
fn following_from_record(kernel: &str, secret: Params, record: Range<i64>) -> Vec<String> {
    let function = MODULES.iter().find_map(|module| module.function(kernel)).unwrap();
    let body = function.body.as_ref().unwrap();
    let origins = Origins::of(body, record);
    let mut found = Vec::new();
    for instruction in &body.instructions {
        let opcode = &instruction.opcode;
        let address = instruction.operands.iter().find_map(|operand| match operand {
            Operand::Address(address) => address.register(),
            _ => None,
        });
        let steers = address.is_some() || matches!(opcode.base(), "bra" | "brx");
        let guard = instruction.guard.map(|guard| guard.register).filter(|_| steers);
        let index = instruction.sources().filter(|_| opcode.base() == "brx");
        let followed = address.into_iter().chain(guard).chain(index);
        if followed.into_iter().any(|register| origins.registers[register.0 as usize].contents & secret != 0) {
            let space = opcode.modifiers().find(|part| ["shared", "global", "local"].contains(part));
            found.push(space.map_or(opcode.base().to_owned(), |space| format!("{}.{space}", opcode.base())));
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Kernels that evaluate keys, with the parameters that are secret: roots and sections, but not points and results.
const EVALUATIONS: [(&str, Params); 3] =
    [("fss_cmp_eval_window", 0b000_1110), ("fss_cmp_eval_all", 0b0_1110), ("fss_dcf_eval_window", 0b0001_1110)];

#[test]
fn no_address_and_no_branch_of_a_bitsliced_kernel_follows_from_a_secret() {
    for (kernel, secret) in EVALUATIONS {
        let kernel = format!("{kernel}_bitsliced");
        assert_eq!(following_from(&kernel, secret), Vec::<String>::new(), "{kernel}");
    }
}

#[test]
fn no_address_and_no_branch_follows_from_a_seed_but_of_look_ups() {
    let secret = 0..offset_of!(SeedParams, mask) as i64;
    assert_eq!(following_from_record("fss_expand_seed_bitsliced", 1, secret.clone()), Vec::<String>::new());
    assert_eq!(following_from_record("fss_expand_seed", 1, secret), ["ld.shared"]);
    let sizes = offset_of!(SeedParams, rows) as i64..size_of::<SeedParams>() as i64;
    assert!(!following_from_record("fss_expand_seed_bitsliced", 1, sizes).is_empty(), "sizes end loops");
}

#[test]
fn no_address_and_no_branch_of_table_sums_follows_from_a_share() {
    assert_eq!(following_from("fss_table_sums", 0b00_0010), Vec::<String>::new());
    assert!(!following_from("fss_table_sums", 0b00_0100).is_empty(), "x chooses the first entry");
}

#[test]
fn no_address_and_no_branch_of_sums_of_words_and_a_row_follows_from_a_share() {
    assert_eq!(following_from("fss_linear_words", 0b1110), Vec::<String>::new());
}

#[test]
fn no_address_and_no_branch_of_copies_follows_from_a_share() {
    assert_eq!(following_from("tensor_copy_u64", 0b0100), Vec::<String>::new());
    assert_eq!(following_from("tensor_gather_u64", 0b0010), Vec::<String>::new());
    assert!(!following_from("tensor_gather_u64", 0b0100).is_empty(), "an index chooses the row");
}

#[test]
fn of_other_kernels_the_look_ups_alone_follow_from_secrets() {
    let others = [("fss_cmp_gen", 0b0_0110), ("fss_dcf_gen", 0b000_1110)];
    for (kernel, secret) in EVALUATIONS.into_iter().chain(others) {
        assert_eq!(following_from(kernel, secret), ["ld.shared"], "{kernel}");
    }
}
