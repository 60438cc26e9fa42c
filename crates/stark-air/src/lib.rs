//! AIRs and generators of traces recorded to programs, and traces checked against AIRs.
//!
//! Every backend runs the programs. An [`Air`](core_types::air::Air) is code that is generic over
//! the row it reads. [`Recorded`] runs it once on a row of nodes. It keeps the masks, the number of
//! constraints, and a [`Program`] of register operations that computes the constraints. The program
//! contains no challenge and no size, so it serves every proof. [`check_trace`] is for authors: it
//! returns the row and constraint that a trace breaks, and the values that the row reads.
//! [`RecordedGenerator`] records code that generates rows of a trace, a
//! [`Generator`](core_types::air::Generator), in the same way.
//!
//! ```
//! use core_types::{
//!     air::{Air, Row},
//!     field::{M31, QM31},
//! };
//! use stark_air::{HostTrace, Recorded, TraceError, check_trace};
//!
//! /// The second column holds the squares of the first.
//! struct Squares;
//!
//! impl Air for Squares {
//!     fn log_rows(&self) -> u32 {
//!         2
//!     }
//!
//!     fn eval<R: Row>(&self, row: &mut R) {
//!         let (a, b) = (row.column(), row.column());
//!         row.constraint(b - a * a);
//!     }
//! }
//!
//! let recorded = Recorded::new(&Squares)?;
//! assert_eq!(recorded.constraints(), 1);
//! assert_eq!(recorded.columns()[1], [[0], [0]]); // two columns of the trace, each at the row at hand
//!
//! let words = |words: [u32; 4]| words.map(M31::from_u32).to_vec();
//! let columns = [vec![], vec![words([1, 2, 3, 4]), words([1, 4, 9, 15])]];
//! let trace = HostTrace { columns: &columns, preprocessed: &[], challenges: &[], claimed_sum: QM31::ZERO };
//! let Err(TraceError::Violated(violation)) = check_trace(&Squares, &trace) else { panic!("4 * 4 is 16") };
//! assert_eq!((violation.constraint, violation.row), (0, 3));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod arena;
mod compile;
mod error;
mod generator;
mod program;
mod recorded;
mod recorder;
mod registers;
mod trace;
mod value;

pub use error::RecordError;
pub use generator::RecordedGenerator;
pub use program::{MaskRead, MaskSource, Program};
pub use recorded::Recorded;
pub use trace::{HostTrace, MaskValue, ScalarRow, TraceError, Violation, check_trace};
