//! Keys of single gates: a folder for each party, used once.
//!
//! | file | content |
//! |---|---|
//! | `gate.json` | what the keys compute: public |
//! | `keys.pfk` | the party's bundle |
//! | `identity.der`, `identity.key` | this party's certificate and its secret key, for these keys alone |
//! | `peer` | SHA-256 of the other party's certificate |
//! | `used` | made before the first use |

mod descriptor;
mod eval;
mod folder;
mod gate_file;
mod generate;
mod inspect;
mod report;
mod rows;
mod values;

pub(super) use eval::{EvalArgs, run as eval};
pub(super) use generate::{GenArgs, run as generate};
pub(super) use inspect::run as inspect;
