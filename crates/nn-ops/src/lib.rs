//! Dense neural-network operators, forward and backward.
//!
//! Operators take tensors (views of a queue's buffers with a [`Layout`]) and write to tensors that
//! the caller owns, on whatever device the queue runs on. A plan (such as [`GemmPlan`] or
//! [`SoftmaxPlan`]) checks the shapes once, before any device work, and its methods run on tensors
//! of those shapes; a free function such as [`matmul`] makes the plan for one call. Most plans take
//! any layout, and pack a copy where the op needs row-major elements. Methods of
//! [`Functional`] on a queue take operands of any layout and return the result as a new [`Tensor`].
//! Elements are f32, f16 or bf16; sums and functions are computed in f32.
//!
//! An operator overwrites its results, whose previous contents do not matter. Exceptions: operators
//! named `_in_place` read the tensor that they write; those named `add_inputs`, `scatter_add` or
//! `accumulating` and the gradients of matrix products and of linear layers add to the previous
//! contents (start them with zeros, or [`fill`] them); [`axpby`] does as its factors define.
//!
//! Layers ([`Layer`]) have their parameters in a [`ParameterArena`] and save the state of their
//! backward pass. A [`Tape`] records layers and operators and computes all gradients. Activations
//! are f32, f16 or bf16; weights ([`MasterWeights`]) and gradients of parameters stay f32, and the
//! tape's `cross_entropy`, `mse` and `widen` return f32. A training in bf16 is the example of
//! [`MasterWeights`]; `docs/nn.md` has the rules of mixed precision.
//!
//! ```
//! use nn_ops::{Tensor, matmul};
//!
//! let q = runtime::cpu()?;
//! let a = Tensor::from_values(&q, &[2, 3], &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
//! let b = Tensor::from_values(&q, &[3, 1], &[1.0f32, 0.0, -1.0])?;
//! let mut c = Tensor::alloc(&q, &[2, 1])?;
//! matmul(&q, a.at(), b.at(), c.at_mut())?;
//! assert_eq!(c.values(&q)?, [-2.0, -2.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

#[macro_use]
mod macros;

mod attention;
mod bert;
mod correction;
mod elementwise;
mod error;
mod functional;
mod gru;
pub mod io;
mod layers;
mod mlp;
mod movement;
mod optim;
mod products;
mod rows;
mod rssm;
mod svd;
mod tape;
mod tensor;

// The op sets that modules name in their bounds.
use backend_api::ops::{
    correction::CorrectionOps,
    factor::FactorOps,
    linalg::{AttentionOps, ElementwiseOps, GemmOps, LinalgOps, LossOps, RowOps},
    optim::OptimOps,
    recurrent::RecurrentOps,
    tensor::{StridedElement, TensorOps},
};

pub use attention::{
    AttentionGradients, AttentionInputs, AttentionMask, AttentionOptions, AttentionPlan, AttentionSaved,
    AttentionShape, CacheShape, DropoutStep, KeyValueCache,
};
pub use bert::BertEncoder;
pub use core_types::params::{
    correction::CorrectionParams,
    elementwise::{Activation, Binary},
    recurrent::{Feedback, GruInputs, GruVariant, LossError, LossHead, Stochastic},
    tensor::Reduction,
};
pub use correction::{
    CorrectionEstimates, CorrectionOperands, CorrectionOptions, CorrectionPlan, CorrectionWorkspace, EncoderPlan,
    EncoderResults, OptimizerSummary, ResidualStore, SimilarStates, TrainingPhase, TrainingState, TrainingStates,
    apply_correction, apply_correction_in_place,
};
pub use elementwise::{
    BinaryPlan, Dropout, DropoutSite, ElementwisePlan, Map, activate, activate_backward, activate_in_place, axpby,
    binary, binary_in_place, binary_scalar, fill, map, map_in_place, select, select_in_place,
};
pub use error::{NnError, Shape};
pub use functional::{Attended, Functional, Nested, Normed, NormedSum, RowLosses};
pub use gru::{
    GruColumns, GruConcat, GruGradientPlan, GruGradientWorkspace, GruGradients, GruMember, GruPass, GruPassValues,
    GruPlan, GruResults, GruRows, GruUpstream, GruWeights, TorchUnit,
};
pub use layers::{
    AnyLayer, Embedding, Gru, Layer, LayerNorm, LayerOps, Mode, Parameters, RmsNorm, Saved, SelfAttention, Sequential,
    Start,
};
pub use mlp::{Mlp, MlpInference, MlpTraining};
pub use movement::{Indices, Overflow, concat, copy, narrow, widen};
pub use optim::{
    Annealing, LossScale, MasterWeights, Optimizer, OptimizerConfig, ParameterArena, ParameterId, ParameterSpec,
    ParameterTable, Precision, Rule, Schedule, StepState, WeightDecay,
};
pub use products::{
    Dense, DenseGradients, DensePlan, GemmPlan, LinearBackwardPlan, LinearGradients, LinearOperands, LinearPlan,
    LinearSaved, linear, linear_backward, matmul, matmul_backward_lhs, matmul_backward_rhs,
};
pub use rows::{
    CrossEntropyPlan, CrossEntropyResults, Mask, NormAffine, NormGradients, NormPlan, NormResults, NormSaved,
    ReducePlan, SoftmaxPlan, SumPlan, arg_max, cross_entropy, cross_entropy_probs, reduce, sum_axis,
};
pub use rssm::{
    RssmDropout, RssmHead, RssmOperands, RssmPlan, RssmResults, RssmSpec, RssmSummary, RssmTensors, RssmTrainer,
    RssmTraining, TrajectoryMetrics,
};
pub use svd::{CompressedResidual, ResidualPlan, SvdFactors, SvdOptions, SvdPlan, SvdPower, SvdWorkspace};
pub use tape::{Tape, Var, VariableGradients};
pub use tensor::{Init, Layout, Operand, Tensor, TensorMut, TensorRef};
