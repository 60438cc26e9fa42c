//! Keys of single gates and functions: a folder for each party, used once.
//!
//! | file | content |
//! |---|---|
//! | `gate.json` | the computation of the keys: public |
//! | `keys.pfk` | the party's bundle |
//! | `shift.pfk` | the bundle of the shift after a function's descriptor |
//! | `identity.der`, `identity.key` | this party's certificate and its secret key, for these keys alone |
//! | `peer` | SHA-256 of the other party's certificate |
//! | `used` | made before the first use |

mod computation;
mod descriptor;
mod eval;
mod folder;
mod function;
mod gate_file;
mod generate;
mod inspect;
mod report;
mod rows;
mod table;
mod values;
mod verify;

pub(super) use eval::{EvalArgs, run as eval};
pub(super) use generate::{GenArgs, run as generate};
pub(super) use inspect::{bundle as inspect_bundle, folder as inspect_folder};
pub(super) use verify::{bundle as verify_bundle, folder as verify_folder};
