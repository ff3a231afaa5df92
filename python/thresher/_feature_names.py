# SPDX-License-Identifier: Apache-2.0
"""Feature names of data frames, stored by fit and checked by predict, with scikit-learn's messages."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from . import _errors
from ._core.notes import note

_SHOWN = 5  # names of a difference


def names_of(x: Any) -> npt.NDArray[Any] | None:
    """The columns of a data frame if all names are str; None for other things."""
    columns = getattr(x, "columns", None)
    if columns is None:
        return None
    names = np.asarray(columns, object)
    kinds = sorted({type(name).__qualname__ for name in names})
    if len(kinds) > 1 and "str" in kinds:
        raise _errors.ArgumentTypeError(
            "Feature names are only supported if all input features have string names, but your input has "
            f"{kinds} as feature name / column name types. If you want feature names to be stored and validated, you "
            "must convert them all to strings, by using X.columns = X.columns.astype(str) for example."
        )
    return names if kinds == ["str"] else None


def keep_names(estimator: Any, names: npt.NDArray[Any] | None) -> None:
    """Set feature_names_in_ after a fit; delete it for data without names."""
    if names is not None:
        estimator.feature_names_in_ = names
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def check_names(estimator: Any, x: Any) -> None:
    """Check that x has the names of the fit."""
    fitted, given = getattr(estimator, "feature_names_in_", None), names_of(x)
    kind = type(estimator).__name__
    if fitted is None or given is None:
        if fitted is not None:
            note(f"X does not have valid feature names, but {kind} was fitted with feature names")
        elif given is not None:
            note(f"X has feature names, but {kind} was fitted without feature names")
        return
    if list(fitted) == list(given):
        return
    message = "The feature names should match those that were passed during fit.\n"
    unseen, missing = sorted(set(given) - set(fitted)), sorted(set(fitted) - set(given))
    for what, names in (("unseen at fit time", unseen), ("seen at fit time, yet now missing", missing)):
        if names:
            message += f"Feature names {what}:\n" + "".join(f"- {name}\n" for name in names[:_SHOWN])
            message += "- ...\n" if len(names) > _SHOWN else ""
    if not unseen and not missing:
        message += "Feature names must be in the same order as they were in fit.\n"
    raise _errors.ArgumentError(message)
