/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Many sites, many threads. A part of conformance.c. */

/* ---- Many sites: more than Linux writes in one batch ------------------------------------------------------------- */

static DEFINE_STATIC_KEY_FALSE(many);

#define SITES_5(x) x + static_branch_unlikely(&many) + static_branch_likely(&many) + static_branch_unlikely(&many) + static_branch_likely(&many) + static_branch_unlikely(&many)
#define SITES_25(x) SITES_5(SITES_5(SITES_5(SITES_5(SITES_5(x)))))

static int many_1(int x)
{
	x = SITES_25(x);
	x = SITES_25(x);
	x = SITES_25(x);
	x = SITES_25(x);
	return x;
}

static int many_2(int x)
{
	return many_1(x) + SITES_25(0);
}

static int many_3(int x)
{
	x = SITES_25(x);
	x = SITES_25(x);
	x = SITES_25(x);
	x = SITES_25(x);
	x = SITES_25(x);
	x = SITES_25(x);
	x = SITES_25(x);
	return many_2(x);
}

static void many_sites(void)
{
	for (int i = 0; i < 3; i++) {
		CHECK(many_3(0) == 0);
		STEP(static_branch_enable(&many));
		CHECK(many_3(0) == 300);
		STEP(static_branch_disable(&many));
	}
}

/* ---- Threads: when inc returns, the key is on until the matching dec --------------------------------------------- */

static DEFINE_STATIC_KEY_FALSE(contended);

static void *come_and_go(void *failures)
{
	for (int i = 0; i < 100; i++) {
		if (!static_branch_inc(&contended) || !static_branch_unlikely(&contended) || !static_branch_likely(&contended))
			__atomic_fetch_add((int *)failures, 1, __ATOMIC_RELAXED);
		static_branch_dec(&contended);
	}
	return NULL;
}

static void threads(void)
{
	pthread_t thread[3];
	int failures = 0;

	for (int i = 0; i < 3; i++)
		CHECK(pthread_create(&thread[i], NULL, come_and_go, &failures) == 0);
	for (int i = 0; i < 3; i++)
		CHECK(pthread_join(thread[i], NULL) == 0);
	CHECK(failures == 0);
	STEP(CHECK(static_key_count(&contended) == 0 && !static_branch_unlikely(&contended)));
}
