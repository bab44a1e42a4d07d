// SPDX-License-Identifier: MIT OR Apache-2.0
// A module of several files, in a header.
#ifndef VERBOSE_H
#define VERBOSE_H

#include <jumplabel/vlog.hpp>

DECLARE_VLOG_MODULE(verbose_net);

void other();

inline void in_header(int x)
{
	VLOG_IN(verbose_net, 1) << "header" << x;
}

#endif
