# SPDX-License-Identifier: Apache-2.0
"""What the modules share: the library and its structs, contexts, interrupts, and the conversion of arguments."""
