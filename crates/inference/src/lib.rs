//! Private inference between two processes.
//!
//! A client holds images and a server holds the weights of a public architecture; a dealer prepares
//! keys for both and leaves. The two run the model on secret shares over a connection that is
//! encrypted and authenticated with pinned certificates. The client learns the logits, the server
//! learns nothing.
//!
//! A [`Model`] is written once, as a function on an [`Engine`]. [`Plan`] runs it to find out which
//! keys and how many bytes it needs, [`plain::logits`] runs it in the clear, and [`party::run`] on
//! shares; [`party::open_weights`] opens the weights once for many runs by [`party::run_opened`].
//! [`Model::preferring`] chooses gates for fewest bytes of keys in place of fewest rounds.
//! [`folder::deal`] writes each party's keys to a folder that is used once, [`folder::deal_runs`]
//! to folders of many runs on weights that are opened once. [`folder::KeyFolder::open_for`] opens a
//! folder whose model is a Rust function. [`cost`] sums keys, bytes, rounds and arithmetic by layer
//! and gate, of these models and of published shapes. [`ModelFile`] describes any other model as a
//! list of layers, whose weights come from PyTorch, and [`Model::from_fn`] as a function on
//! [`Layers`].
//!
//! ```
//! use inference::{Architecture, Model, Parameters, party::{self, Role}, plain};
//! use pfss::{Dealer, memory_pair};
//!
//! let model = Model::new(Architecture::Digits, 2)?;
//! let weights = Parameters::zeros(&model);
//! let images = vec![0; 2 * model.input_len()];
//!
//! let [client, server] = model.plan()?.deal(&runtime::cpu()?, &mut Dealer::from_os()?, |_| ())?;
//! let (to_server, to_client) = memory_pair(std::time::Duration::from_secs(10));
//! let queues = [runtime::cpu()?, runtime::cpu()?];
//! let logits = std::thread::scope(|scope| {
//!     let serving = scope.spawn(|| party::run(&queues[1], &model, server, to_client, Role::Server(&weights), |_| ()));
//!     let inferred = party::run(&queues[0], &model, client, to_server, Role::Client(&images), |_| ())?;
//!     serving.join().map_err(|_| "the server ends")??;
//!     Ok::<_, Box<dyn std::error::Error>>(inferred.logits)
//! })?;
//! assert_eq!(logits, Some(plain::logits(&model, &weights, &images)?));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod architecture;
pub mod cost;
pub mod digits;
mod engine;
mod error;
mod fixed_point;
pub mod folder;
mod function;
mod keys;
mod limits;
mod model;
mod model_file;
mod parameter;
mod parameters;
pub mod party;
pub mod plain;
mod planner;
mod preference;
mod tensor;
pub mod tls;
mod words;

pub use architecture::Architecture;
pub use engine::{Call, Engine};
pub use error::{InferenceError, Outcome};
pub use fixed_point::FRACTION_BITS;
pub use function::{FunctionModel, ModelLimits};
pub use keys::{
    deal::{Deal, Key},
    opened::{OpenedKeys, OpenedPlan, WeightProduct},
    plan::{Plan, Step},
    stored::Keys,
};
pub use limits::{Limit, Limits};
pub use model::{Attention, Conv2d, DeclaredLimits, Layers, Model, NormPlacement, TransformerShape, Value};
pub use model_file::{ModelFile, ModelFileError};
pub use parameter::Parameter;
pub use parameters::Parameters;
pub use preference::Preference;
pub use tensor::Tensor;
pub use words::Words;
