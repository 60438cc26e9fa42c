//! Functions by name, such as GeLU, as gates on fixed-point numbers.

use anyhow::{Result, ensure};
use pfss::{
    Gate, SignedRange,
    functions::{Accuracy, FixedFn, FixedGates, gelu, neg_exp, reciprocal, rsqrt, rsqrt_octaves, silu},
    suf::SufModes,
};

use super::gate_file::GateFile;

/// A function of one fixed-point number by name: a descriptor, and the shift after it.
#[derive(Debug)]
pub(super) struct NamedFunction {
    pub(super) name: &'static str,
    pub(super) gates: FixedGates,
    /// The inputs that the keys are for.
    pub(super) inputs: SignedRange,
    /// Fraction bits of the result.
    pub(super) fraction: u32,
    function: FixedFn,
}

impl NamedFunction {
    pub(super) const NAMES: [&'static str; 5] = ["gelu", "silu", "neg_exp", "reciprocal", "rsqrt"];
    /// Fraction bits of every input, and of results unless stated otherwise.
    pub(super) const FRACTION: u32 = 12;
    /// The most fraction bits of a result that there is room for at the scale of lines.
    const MAX_FRACTION: u32 = 24;
    const RING_BITS: u32 = 64;

    /// The function that `file` names, on a proven range of inputs if there is one.
    ///
    /// `None` if the file names no function.
    pub(super) fn named(file: &GateFile, range: Option<SignedRange>) -> Result<Option<Self>> {
        let Some(name) = Self::NAMES.into_iter().find(|name| *name == file.gate) else { return Ok(None) };
        let by_octaves = matches!(name, "reciprocal" | "rsqrt");
        let parameters = ["bits", "range", "fraction", "degree", "pieces", "coefficients", "octaves"];
        file.only(&parameters[..parameters.len() - usize::from(name != "rsqrt")])?;
        let (bits, fraction) = (file.bits.unwrap_or(Self::RING_BITS), file.fraction.unwrap_or(Self::FRACTION));
        ensure!(bits == Self::RING_BITS, "expected a ring of {} bits for {name}, got {bits}", Self::RING_BITS);
        if by_octaves {
            let fits = (1..=Self::MAX_FRACTION).contains(&fraction);
            ensure!(fits, "expected a result of 1 to {} fraction bits for {name}, got {fraction}", Self::MAX_FRACTION);
        } else {
            let fits = fraction == Self::FRACTION;
            ensure!(fits, "expected a result of {} fraction bits for {name}, got {fraction}", Self::FRACTION);
        }
        let usual = if by_octaves { Accuracy::CUBIC_QUARTER_OCTAVE } else { Accuracy::CUBIC_16 };
        let accuracy = Accuracy::new(file.degree.unwrap_or(usual.degree), file.pieces.unwrap_or(usual.pieces));
        let function = match name {
            "gelu" => gelu(accuracy),
            "silu" => silu(accuracy),
            "neg_exp" => neg_exp(accuracy),
            "reciprocal" => reciprocal(accuracy, fraction),
            _ => match file.octaves {
                Some(octaves) => rsqrt_octaves(accuracy, fraction, octaves),
                None => rsqrt(accuracy, fraction),
            },
        }?;
        let coeffs = file.coefficients.unwrap_or_default().into();
        let inputs = range.unwrap_or(function.inputs());
        let gates = function.gates_within(SufModes { coeffs, ..SufModes::default() }, inputs)?;
        Ok(Some(Self { name, gates, inputs, fraction, function }))
    }

    /// The gates that need keys: the descriptor's, and the shift's if there is one.
    pub(super) fn gates(&self) -> Vec<&Gate> {
        self.gates.gates().collect()
    }

    /// The function in the clear.
    pub(super) fn eval(&self, x: u64) -> u64 {
        self.function.eval(x.cast_signed()).cast_unsigned()
    }
}
