//! The table of all ops, and the traits that it makes.

use crate::{BackendError, Queue, Real};

/// Passes the op sets, one by one, to a macro of the caller.
///
/// A set comes with its trait, its supertrait, and its methods, each with its record and the value
/// that the record's `check` returns. Wrappers of queues implement all sets this way; a backend
/// does by `op_sets!(checked CpuQueue)`: see [`checked!`](crate::checked!).
#[macro_export]
macro_rules! op_sets {
    ($with:ident $($queue:ident)?) => {
        $with! {
            $([$queue])?
            /// Device steps of the circle transforms.
            ///
            /// Every op returns [`BackendError::Length`] if a view does not have the length its
            /// parameters state, and [`BackendError::Unsupported`] for a log size that no domain
            /// has, or a domain smaller than the polynomial. Nothing is written then.
            circle::CircleOps: Queue {
                circle_twiddles(CircleTwiddles),
                circle_interpolate(CircleInterpolate),
                circle_evaluate(CircleEvaluate),
                circle_extend(CircleExtend),
                circle_lde(CircleLde),
                circle_eval_at_point(CircleEvalAtPoint),
                circle_eval_at_points(CircleEvalAtPoints),
                circle_interpolate_part(CircleInterpolatePart),
                circle_restrict(CircleRestrict),
                batch_inverse_m31(BatchInverseM31),
                batch_inverse_qm31(BatchInverseQm31),
            }
        }
        $with! {
            $([$queue])?
            /// Device steps of Merkle trees.
            ///
            /// Every op returns [`BackendError::Length`] if a view does not have the length its
            /// parameters state, and [`BackendError::Unsupported`] for sizes out of range and for
            /// columns that are not in their buffer. Nothing is written then.
            merkle::MerkleOps: Queue {
                merkle_leaves(MerkleLeaves),
                merkle_secure_leaves(MerkleSecureLeaves),
                merkle_tree(MerkleTree),
                merkle_paths(MerklePaths),
            }
        }
        $with! {
            $([$queue])?
            /// Device steps of transcripts.
            ///
            /// Every op returns [`BackendError::Length`] if a view does not have the length its
            /// parameters state, and [`BackendError::Unsupported`] for parameters out of range.
            /// Nothing is written then.
            channel::ChannelOps: Queue {
                channel_mix_digests(ChannelMixDigests),
                channel_mix_felts(ChannelMixFelts),
                channel_mix_words(ChannelMixWords),
                channel_draw(ChannelDraw),
                channel_queries(ChannelQueries),
                channel_grind(ChannelGrind),
            }
        }
        $with! {
            $([$queue])?
            /// Device steps of sampling outside the domain and of DEEP quotients.
            ///
            /// Every op returns [`BackendError::Length`] if a view does not have the length its
            /// parameters state, and [`BackendError::Unsupported`] for sizes out of range and for
            /// lists that refer to missing entries. Nothing is written then.
            deep::DeepOps: Queue {
                deep_points(DeepPoints),
                deep_lines(DeepLines),
                deep_numerators(DeepNumerators),
                deep_quotients(DeepQuotients),
            }
        }
        $with! {
            $([$queue])?
            /// Device steps of FRI and of openings.
            ///
            /// Every op returns [`BackendError::Length`] if a view does not have the length its
            /// parameters state, and [`BackendError::Unsupported`] for sizes out of range and for
            /// columns that are not in their buffer. Nothing is written then.
            fri::FriOps: Queue {
                fri_fold(FriFold),
                fri_last_layer(FriLastLayer),
                open_columns(OpenColumns),
                open_groups(OpenGroups),
            }
        }
        $with! {
            $([$queue])?
            /// Device steps of traces, constraints and look-ups.
            ///
            /// Every op returns [`BackendError::Length`] if a view does not have the length its
            /// parameters state, and [`BackendError::Unsupported`] for sizes out of range and for
            /// programs that refer to missing operands. Nothing is written then.
            air::AirOps: Queue {
                air_columns(AirColumns),
                air_evaluate(AirEvaluate),
                air_fractions(AirFractions),
                counter_columns(CounterColumns),
                gather_column(GatherColumn),
                logup_columns(LogUpColumns),
                row_numbers(RowNumbers),
                secure_add_lifted(SecureAddLifted),
                secure_powers(SecurePowers),
            }
        }
        $with! {
            $([$queue])?
            /// Device steps on shares.
            ///
            /// Both ops return [`BackendError::Length`] if a view does not have the length that
            /// parameters and terms state, and [`BackendError::Unsupported`] for widths, parties,
            /// powers or rows out of range and for lists that do not end in a last term. Nothing is
            /// written then. Results are the same bit for bit on every backend.
            share::ShareOps: Queue {
                combine_bits(CombineBits) -> BitShape,
                combine_words(CombineWords) -> WordShape,
            }
        }
        $with! {
            $([$queue])?
            /// Device steps of function secret sharing; what follows them is arithmetic on shares.
            ///
            /// Every op returns [`BackendError::Length`] if a view does not have the length its
            /// parameters state, and [`BackendError::Unsupported`] for an invalid width, window,
            /// party, number of payload words or range of keys, or if the device may not run AES.
            /// Nothing is written then.
            fss::FssOps: ShareOps {
                cmp_eval_window(CmpEvalWindow) -> CmpShape,
                cmp_eval_all(CmpEvalAll) -> CmpAllShape,
                cmp_gen(CmpGen) -> CmpGenShape,
                dcf_eval_window(DcfEvalWindow) -> DcfShape,
                dcf_gen(DcfGen) -> DcfGenShape,
                pack_bits(PackBits) -> PackShape,
                unpack_bits(UnpackBits) -> PackShape,
            }
        }
        $with! {
            $([$queue])?
            /// Device steps of corrections.
            ///
            /// Features of trainings and their codes, rings of states, and estimates from
            /// residuals.
            ///
            /// Every op returns [`BackendError::Length`] if a view does not have the length its
            /// parameters state, and [`BackendError::Unsupported`] for sizes out of range. Nothing
            /// is written then. No op waits.
            correction::CorrectionOps: Queue {
                apply_correction(ApplyCorrection),
                apply_correction_in_place(ApplyCorrectionInPlace),
                encode_states(EncodeStates),
                estimate_residuals(EstimateResiduals),
                similar_states(SimilarStates),
                store_states(StoreStates),
                training_features(TrainingFeatures),
            }
        }
        $with! {
            $([$queue])?
            /// Device steps of truncated singular value decompositions.
            ///
            /// Every op returns [`BackendError::Length`] if a view does not have the length its
            /// parameters state, and [`BackendError::Unsupported`] for sizes out of range. Nothing
            /// is written then. No op waits.
            factor::FactorOps: Queue {
                chol_inverse(CholInverse),
                complete_columns(CompleteColumns),
                jacobi_eigen(JacobiEigen),
                matrix_peak(MatrixPeak),
                orient_columns(OrientColumns),
                scale_columns(ScaleColumns),
                sign_sketch(SignSketch),
                tall_gram(TallGram),
                tall_product(TallProduct),
            }
        }
        $with! {
            $([$queue])?
            /// Maps over elements and sums over an axis.
            ///
            /// Every op returns [`BackendError::Length`] if a view does not have the length that
            /// the shape and the other views imply.
            linalg::ElementwiseOps: Queue {
                activate<T>(Activate),
                activate_backward<T>(ActivateBackward),
                binary<T>(Binary),
                axpby<T>(Axpby),
                sum_axis<T>(SumAxis),
                dropout<T>(Dropout),
            }
        }
        $with! {
            $([$queue])?
            /// Matrix products.
            ///
            /// Every op returns [`BackendError::Length`] if strides would leave a view, and
            /// [`BackendError::OutOfMemory`] or [`BackendError::BudgetExceeded`] for scratch
            /// memory.
            linalg::GemmOps: Queue {
                gemm<T>(Gemm),
            }
        }
        $with! {
            $([$queue])?
            /// Ops along one axis: softmax and the normalisations, forward and backward.
            ///
            /// Statistics and exponentials are computed in f32 for every `T`. The order of each sum
            /// depends only on the shape, and a row's result does not depend on the other rows.
            /// Every op returns [`BackendError::Length`] if a view does not have the size of its
            /// shape.
            linalg::RowOps: Queue {
                softmax<T>(Softmax),
                log_softmax<T>(LogSoftmax),
                softmax_backward<T>(SoftmaxBackward),
                log_softmax_backward<T>(LogSoftmaxBackward),
                layer_norm<T>(LayerNorm),
                add_layer_norm<T>(AddLayerNorm),
                layer_norm_backward<T>(LayerNormBackward),
                rms_norm<T>(RmsNorm),
                rms_norm_backward<T>(RmsNormBackward),
            }
        }
        $with! {
            $([$queue])?
            /// Losses, each with its gradient in the same pass.
            ///
            /// Every op returns [`BackendError::Length`] if the views do not match.
            linalg::LossOps: Queue {
                cross_entropy<T>(CrossEntropy),
                cross_entropy_probs<T>(CrossEntropyProbs),
            }
        }
        $with! {
            $([$queue])?
            /// Device steps of optimisers, for all the tensors of a model at once.
            ///
            /// Every op returns [`BackendError::Length`] if a view does not have the length that
            /// the others imply, and [`BackendError::Unsupported`] for views that do not go
            /// together. Nothing is written then. No op waits. Weights and moments have the same
            /// bits on every backend for the same record; sums of squares have an order of their
            /// own on each.
            optim::OptimOps: Queue {
                adam_step<T>(AdamStep),
                advance_step(AdvanceStep),
                scale_loss<T>(ScaleLoss),
                sgd_step<T>(SgdStep),
                square_sums<T>(SquareSums),
            }
        }
        $with! {
            $([$queue])?
            /// Device steps of recurrent networks, in f32.
            ///
            /// The weights of forward passes and of roll-outs may have 16 bits.
            ///
            /// A row's result does not depend on the other rows, down to its bits, nor on how steps
            /// are dealt to calls. Every op returns [`BackendError::Length`] if a view does not
            /// have the length its parameters state, and [`BackendError::Unsupported`] for
            /// parameters that no op has. Nothing is written then. A GPU supports states of up to
            /// 2024 elements, and refuses sizes that its kernels cannot count.
            recurrent::RecurrentOps: Queue {
                gru_backward(GruBackward),
                gru_forward<T>(GruForward),
                rssm_loss(RssmLoss),
                rssm_rollout<T>(RssmRollout),
            }
        }
        $with! {
            $([$queue])?
            /// Maps, forms in place, copies between layouts, conversions, reductions and rows by
            /// index.
            ///
            /// Every op returns [`BackendError::Length`] if a view does not have the length that
            /// the shape and the other views imply, and [`BackendError::Unsupported`] for
            /// parameters that no result is defined for. Nothing is written then.
            tensor::TensorOps: Queue {
                activate_in_place<T>(ActivateInPlace),
                arg_max<T>(ArgMax),
                binary_in_place<T>(BinaryInPlace),
                copy_strided<T>(CopyStrided),
                fill<T>(Fill),
                gather<T>(Gather),
                map<T>(Map),
                map_in_place<T>(MapInPlace),
                narrow<T>(Narrow),
                reduce<T>(Reduce),
                scatter_add<T>(ScatterAdd),
                select<T>(Select),
                widen<T>(Widen),
            }
        }
    };
}

/// Implements an op set for a queue of a backend, with the check of each op.
///
/// The methods come from a trait of the same name, which this defines in the backend's crate: they
/// run on checked ops, and get the value that `check` returned. An op that is generic in the
/// element type is compiled for each type in that crate ([`RealOp`](crate::RealOp)).
#[macro_export]
macro_rules! checked {
    ([$queue:ident] $(#[$doc:meta])* $module:ident::$set:ident: $super:ident {
        $($method:ident $(<$t:ident>)? ($record:ident) $(-> $shape:ident)?,)*
    }) => {
        #[doc = concat!("[`", stringify!($set), "`](backend_api::ops::", stringify!($module), "::", stringify!($set), ") on checked ops.")]
        pub(crate) trait $set: $crate::Queue {
            $(
                fn $method $(<$t: $crate::Real>)? (
                    &self,
                    op: $crate::ops::$module::$record<'_, Self $(, $t)?>,
                    $(shape: $crate::ops::$module::$shape,)?
                ) -> Result<(), $crate::BackendError>;
            )*
        }

        impl $crate::ops::$module::$set for $queue {
            $($crate::checked!(@method $queue $set $module $method $record $($t)? $(-> $shape)?);)*
        }
    };
    (@method $queue:ident $set:ident $module:ident $method:ident $record:ident) => {
        fn $method(&self, op: $crate::ops::$module::$record<'_, Self>) -> Result<(), $crate::BackendError> {
            op.check()?;
            $set::$method(self, op)
        }
    };
    (@method $queue:ident $set:ident $module:ident $method:ident $record:ident -> $shape:ident) => {
        fn $method(&self, op: $crate::ops::$module::$record<'_, Self>) -> Result<(), $crate::BackendError> {
            let shape = op.check()?;
            $set::$method(self, op, shape)
        }
    };
    (@method $queue:ident $set:ident $module:ident $method:ident $record:ident $t:ident) => {
        $crate::real_op!($method, $queue, $module::$record, {
            fn run<$t: $crate::Real>(
                q: &$queue,
                op: $crate::ops::$module::$record<'_, $queue, $t>,
            ) -> Result<(), $crate::BackendError> {
                op.check()?;
                $set::$method(q, op)
            }
            run
        });
    };
}

/// The trait of an op set.
macro_rules! define {
    ($(#[$doc:meta])* $module:ident::$set:ident: $super:ident {
        $($method:ident $(<$t:ident>)? ($record:ident) $(-> $shape:ident)?,)*
    }) => {
        $(#[$doc])*
        pub trait $set: $super {
            $(
                #[doc = concat!("Runs a [`", stringify!($record), "`](super::", stringify!($module), "::", stringify!($record), ").")]
                ///
                /// # Errors
                /// Errors of the record's `check`, and errors that the device reports.
                fn $method $(<$t: Real>)? (
                    &self,
                    op: super::$module::$record<'_, Self $(, $t)?>,
                ) -> Result<(), BackendError>;
            )*
        }
    };
}

op_sets!(define);
