//! The functions that SUF's bridge to SIGMA calls: keys, and their evaluation.
//!
//! SIGMA keeps every value between its layers under a mask: parties hold the open `x + r`, and only
//! the dealer has `r`. For each function there is a call that takes the masks of the inputs, makes
//! one party's keys and gives the masks of the outputs, and a call that takes the open masked
//! inputs and gives the open masked outputs. Names, order of arguments and the cursor in SIGMA's
//! buffer of keys are as in SUF's bridge. What differs:
//!
//! - Every call returns a [`Status`](crate::Status), and results go to arrays of the caller's.
//! - Arrays are in host memory or, recognised by their addresses, in memory of the context's
//!   device; there they are read and written in the order of a stream that the caller sets.
//! - The buffer has a capacity, and inputs of all functions have `bw` bits and `scale` fraction
//!   bits.
//! - Masked inputs are open before a call; SUF's calls open the parties' shares of them.
//! - The other party is reached by a function that exchanges bytes.
//! - Two processes that make keys take the same secret seed from the caller.
//! - Keys are evaluated once, and `reset_eval` drops them; SUF's goes back to the first ones.
//!
//! The header is `include/trefoil_sigma.h`, and `examples/sigma.cpp` a program that uses it.
//!
//! Interface: the bridge of the repository `SUF_new` to SIGMA (PETS 2024); functions:
//! [`pfss::functions::WiredFn`].

mod buffer;
mod calls;
pub(crate) mod context;
pub(crate) mod functions;
pub(crate) mod peer;
mod place;
mod record;
mod request;
pub(crate) mod setup;
