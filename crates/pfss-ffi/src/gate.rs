//! Handles of gates, made by name or from a descriptor.
//!
//! # Safety
//! As said [at the top](crate#safety).

use core::ffi::c_char;
use std::sync::Arc;

use pfss::{Operation, OperationError, Parameters, PfssError, SignedRange, suf::SufProgram};

use crate::{
    memory::{array, exclusive, free, put_handle, text},
    status::{CallFailure, Status, guard},
};

/// A gate with its public parameters, or a descriptor with its modes.
///
/// Keys can be dealt for it. Threads may share it.
pub struct GateHandle {
    pub(crate) operation: Arc<Operation>,
}

/// The parameters of a gate by name. Those that the gate does not have must be zero.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct GateParameters {
    /// Ring width of the input in bits.
    pub n: u32,
    /// Bits to shift off, for shifts.
    pub shift: u32,
    /// The least input, if a range is proven; otherwise `min` and `max` are both zero.
    pub min: i64,
    /// The greatest input.
    pub max: i64,
    /// Width of the table's words in bits, for `lut`.
    pub word_bits: u32,
    /// The table, for `lut`: `2^n` words.
    pub table: *const u64,
    /// Words of the table.
    pub table_len: usize,
}

impl From<OperationError> for CallFailure {
    fn from(error: OperationError) -> Self {
        match error {
            OperationError::Gate(error) => error.into(),
            error => Self::argument(error),
        }
    }
}

/// The proven range of two numbers; none if both are zero.
pub(crate) fn proven_range(min: i64, max: i64) -> Result<Option<SignedRange>, CallFailure> {
    match (min, max) {
        (0, 0) => Ok(None),
        (min, max) => Ok(Some(SignedRange::new(min, max).map_err(PfssError::from)?)),
    }
}

/// Makes the gate `name` with its parameters.
///
/// The names are `relu` (with a proven range or without), `abs`, `truncate_reduce`, `gap_ars`
/// (which needs a range), `lrs`, `ars`, `relu_ars` and `lut`. Parameters that the gate does not
/// have are refused.
///
/// # Safety
/// As said [at the top](crate#safety); `name` ends with a zero byte, and `table` of the parameters
/// is an array like any other.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_gate_named(
    name: *const c_char,
    parameters: *const GateParameters,
    gate: *mut *mut GateHandle,
) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let (name, given) = unsafe { (text("name", name)?, array("parameters", parameters, 1)?[0]) };
        // SAFETY: the caller's promise.
        let table = unsafe { array("table", given.table, given.table_len) }?;
        let range = proven_range(given.min, given.max)?;
        let positive = |number: u32| (number > 0).then_some(number);
        let parameters = Parameters {
            n: given.n,
            shift: positive(given.shift),
            range,
            word_bits: positive(given.word_bits),
            table: (!table.is_empty()).then_some(table),
        };
        let operation = Arc::new(Operation::named(&name, &parameters)?);
        // SAFETY: the caller's promise.
        unsafe { put_handle("gate", GateHandle { operation }, gate) }
    })
}

/// Reads a program from bytes: little-endian, every number in 8 bytes.
///
/// First the modes of predicates (0 one shared key, 1 a key for each threshold), of coefficients (0
/// hidden steps, 1 one payload key, 2 masked selection) and of output bits (0 XOR shares, 1
/// additive shares), and the number of bits that hold every input. Then the descriptor: ring width,
/// degree, numbers of word ports, bit ports, predicates and pieces; the names of the ports, each
/// preceded by its length; predicates by tag (1 `x < beta`: beta; 2 `x mod 2^f < gamma`: f, gamma;
/// 3 top bit; 4 top bit of `x + c`: c); pieces: start, for each word the number of coefficients and
/// the coefficients, for each bit its formula, each operand after its operator (0 false, 1 true, 2
/// not, 3 xor, 4 and, 5 or, 6 + i predicate i).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_gate_read(program: *const u8, len: usize, gate: *mut *mut GateHandle) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let bytes = unsafe { array("program", program, len) }?;
        let program = SufProgram::from_bytes(bytes);
        let program = program.map_err(|error| CallFailure::new(Status::TREFOIL_PFSS_PROGRAM, error))?;
        // SAFETY: the caller's promise.
        unsafe { put_handle("gate", GateHandle { operation: Arc::new(Operation::suf(program)) }, gate) }
    })
}

/// Makes the gate compute `y + r_out` for each output word `y`.
///
/// Only the dealer holds the masks `r_out`. The output shares are then `haty` shares, meant to be
/// opened. Output bits are unchanged.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_gate_mask_outputs(gate: *mut GateHandle) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let mut gate = unsafe { exclusive("gate", gate) }?;
        let masked = Operation::clone(&gate.operation).with_masked_outputs()?;
        gate.operation = Arc::new(masked);
        Ok(())
    })
}

/// Frees a gate.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_gate_free(gate: *mut GateHandle) {
    // SAFETY: the caller's promise.
    unsafe { free(gate) };
}
