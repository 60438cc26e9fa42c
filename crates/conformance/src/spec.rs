//! The parts of a specification: a case with its check, the op of cases, and failures.

use core::fmt;

use backend_api::{BackendError, Queue};
use nn_ops::NnError;
use stark_fft::FftError;
use thiserror::Error;

use crate::Conditioned;

/// Batch sizes for every op.
///
/// They are none, and sizes around the 32 lanes of a warp and the 256 threads of a block.
pub(crate) const BATCHES: [u32; 8] = [0, 1, 31, 32, 33, 255, 256, 257];

/// Why a case failed.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum Failure {
    /// The result differs from the oracle's.
    #[error("element {index}: expected {expected}, got {got}")]
    Differs {
        /// First differing element.
        index: usize,
        /// The oracle's value.
        expected: String,
        /// The backend's value.
        got: String,
    },
    /// A property that must hold does not.
    #[error("{0}")]
    Broken(String),
    /// The backend reported an error where a result was due.
    #[error("backend error: {0}")]
    Backend(BackendError),
}

impl From<BackendError> for Failure {
    fn from(error: BackendError) -> Self {
        Self::Backend(error)
    }
}

/// Turns a device's error inside a domain's error into a device's error.
///
/// This distinguishes a lack of memory from a wrong refusal.
impl From<NnError> for Failure {
    fn from(error: NnError) -> Self {
        match error {
            NnError::Backend(error) => Self::Backend(error),
            error => Self::Broken(error.to_string()),
        }
    }
}

impl From<FftError> for Failure {
    fn from(error: FftError) -> Self {
        match error {
            FftError::Backend(error) => Self::Backend(error),
            error => Self::Broken(error.to_string()),
        }
    }
}

impl Failure {
    /// Whether the device was lost; such a failure is no evidence about the other cases.
    #[must_use]
    pub fn is_lost_device(&self) -> bool {
        matches!(self, Self::Backend(BackendError::DeviceLost { .. }))
    }

    /// The same failure, with its subject.
    pub(crate) fn of(self, what: &str) -> Self {
        match self {
            Self::Backend(error) => Self::Backend(error),
            failure => Self::Broken(format!("{what}: {failure}")),
        }
    }

    /// Compares two sequences exactly and names the first difference.
    ///
    /// # Errors
    /// [`Failure::Differs`] for the first differing element, [`Failure::Broken`] if the lengths
    /// differ.
    pub fn unless_equal<T: PartialEq + fmt::Debug>(expected: &[T], got: &[T]) -> Result<(), Self> {
        if expected.len() != got.len() {
            return Err(Self::Broken(format!("expected {} elements, got {}", expected.len(), got.len())));
        }
        match expected.iter().zip(got).position(|(e, g)| e != g) {
            None => Ok(()),
            Some(index) => Err(Self::differs(index, &expected[index], &got[index])),
        }
    }

    fn differs(index: usize, expected: &dyn fmt::Debug, got: &dyn fmt::Debug) -> Self {
        Self::Differs { index, expected: format!("{expected:?}"), got: format!("{got:?}") }
    }

    /// Expects that an op refused its parameters or the lengths of its views.
    ///
    /// # Errors
    /// [`Failure::Broken`] naming `what` if it took them, and any other error of the device.
    pub fn unless_refused(what: &str, result: Result<(), BackendError>) -> Result<(), Self> {
        match result {
            Err(BackendError::Length { .. } | BackendError::Unsupported { .. }) => Ok(()),
            Ok(()) => Err(Self::Broken(format!("{what}: expected a refusal, got a result"))),
            Err(error) => Err(error.into()),
        }
    }

    /// Compares `got` with an f64 model.
    ///
    /// The bound is `|got - expected| <= rtol * |expected| + atol`; NaN equals NaN.
    ///
    /// # Errors
    /// [`Failure::Differs`] for the first element outside, [`Failure::Broken`] if the lengths
    /// differ.
    pub fn unless_close(expected: &[f64], got: &[f32], rtol: f64, atol: f64) -> Result<(), Self> {
        if expected.len() != got.len() {
            return Err(Self::Broken(format!("expected {} elements, got {}", expected.len(), got.len())));
        }
        let outside = |(&e, &g): (&f64, &f32)| {
            let g = f64::from(g);
            let same = e == g || (e.is_nan() && g.is_nan());
            let close = e.is_finite() && (g - e).abs() <= rtol * e.abs() + atol;
            !same && !close
        };
        match expected.iter().zip(got).position(outside) {
            None => Ok(()),
            Some(index) => Err(Self::Differs {
                index,
                expected: format!("{:e} within {rtol:e} relative + {atol:e}", expected[index]),
                got: format!("{:e}", got[index]),
            }),
        }
    }
}

/// The check of a case on a queue.
///
/// It stands for `Fn`: the compiler makes three methods of that for every boxed closure.
pub(crate) trait CaseCheck: Send + Sync {
    fn run(&self, q: &Conditioned) -> Result<(), Failure>;
}

impl<F: Fn(&Conditioned) -> Result<(), Failure> + Send + Sync> CaseCheck for F {
    fn run(&self, q: &Conditioned) -> Result<(), Failure> {
        self(q)
    }
}

/// One run of an op against its oracle.
pub struct Case {
    name: String,
    elements: u64,
    waits: bool,
    check: Box<dyn CaseCheck>,
}

impl Case {
    /// Its name, unique within its op.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A case with a name that states sizes or the property, unique within its op.
    pub fn new(
        name: impl Into<String>,
        check: impl Fn(&Conditioned) -> Result<(), Failure> + Send + Sync + 'static,
    ) -> Self {
        Self::boxed(name, Box::new(check))
    }

    /// The part of [`new`](Self::new) that is compiled once for all checks.
    fn boxed(name: impl Into<String>, check: Box<dyn CaseCheck>) -> Self {
        Self { name: name.into(), elements: 0, waits: false, check }
    }

    /// A case for each element type, named by the type and by `name`.
    pub(crate) fn typed(name: &str, [single, half, brain]: [Box<dyn CaseCheck>; 3]) -> [Self; 3] {
        [
            Self::boxed(format!("f32, {name}"), single),
            Self::boxed(format!("f16, {name}"), half),
            Self::boxed(format!("bf16, {name}"), brain),
        ]
    }

    /// Runs the op on `q` and compares; then waits for `q`.
    ///
    /// # Errors
    /// Why the case fails.
    pub fn hold(&self, q: &Conditioned) -> Result<(), Failure> {
        self.check.run(q)?;
        Ok(q.finish()?)
    }

    /// States how many elements the op works on, for a case that is large.
    #[must_use]
    pub fn on_elements(self, elements: u64) -> Self {
        Self { elements, ..self }
    }

    /// States that an op of the case waits for the device, which a recording device refuses.
    #[must_use]
    pub fn that_waits(self) -> Self {
        Self { waits: true, ..self }
    }

    pub(crate) fn waits(&self) -> bool {
        self.waits
    }
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Case").field(&self.name).finish()
    }
}

/// A case for each element type: `$check::<T>(q, ..)`.
///
/// One closure serves the three types, whose checks are pointers to functions of one signature.
macro_rules! typed {
    ($name:expr, $check:ident($($argument:expr),*)) => {{
        let of = |check: fn(&$crate::Conditioned $(, $crate::spec::typed!(@any $argument))*) -> _| {
            let check: Box<dyn $crate::spec::CaseCheck> =
                Box::new(move |q: &$crate::Conditioned| check(q $(, $argument)*));
            check
        };
        $crate::Case::typed(&$name, [of($check::<f32>), of($check::<half::f16>), of($check::<half::bf16>)])
    }};
    (@any $argument:expr) => {
        _
    };
}

pub(crate) use typed;

/// The cases of one op.
#[derive(Debug)]
pub struct OpSpec {
    /// The op, as `set.method`: `circle.interpolate`.
    pub op: &'static str,
    /// Its cases, cheap ones first.
    pub cases: Vec<Case>,
}

impl OpSpec {
    /// Removes the cases on more than `elements` elements and returns their number.
    ///
    /// It is meant for slow devices.
    pub fn limit_elements(&mut self, elements: u64) -> usize {
        let before = self.cases.len();
        self.cases.retain(|case| case.elements <= elements);
        before - self.cases.len()
    }
}

#[cfg(test)]
mod tests {
    use backend_api::Real;
    use runtime::AnyQueue;

    use super::*;

    #[test]
    fn closeness_treats_nan_and_infinity_as_values() {
        let (nan, inf) = (f64::NAN, f64::INFINITY);
        assert!(Failure::unless_close(&[nan, inf], &[f32::NAN, f32::INFINITY], 0.0, 0.0).is_ok());
        assert!(Failure::unless_close(&[1.0], &[f32::NAN], 1.0, 1.0).is_err());
        assert!(Failure::unless_close(&[inf], &[f32::MAX], 1e-6, 0.0).is_err());
    }

    #[test]
    fn typed_cases_are_named_by_their_type_and_run_in_it() {
        fn check<T: Real>(_: &Conditioned, size: usize) -> Result<(), Failure> {
            Err(Failure::Broken(format!("{size} of {}", T::DTYPE)))
        }
        let q = Conditioned::plain(AnyQueue::Cpu(runtime::cpu().unwrap()));
        for (case, ty) in typed!("a name", check(3)).into_iter().zip(["f32", "f16", "bf16"]) {
            assert_eq!(case.name(), format!("{ty}, a name"));
            assert_eq!(case.hold(&q), Err(Failure::Broken(format!("3 of {ty}"))));
        }
    }
}
