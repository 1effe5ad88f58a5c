! Nonblocking collectives, and with -DPERSISTENT persistent ones, beside messages in one array of requests, completed in
! every way that Fortran has: by mpif.h, the module mpi (-DMODULE) or the module mpi_f08 (-DF08). With the argument
! `messages` it asks for MPI_THREAD_MULTIPLE. It knows nothing of stretto, checks what it gets, and makes a known number
! of calls.
program starts
#ifdef F08
  use mpi_f08
#endif
#ifdef MODULE
  use mpi
#endif
  implicit none
#if !defined(F08) && !defined(MODULE)
  include 'mpif.h'
#endif
#ifdef F08
#define HANDLE(kind) type(kind)
#define STATUS(places) type(MPI_Status) :: places
#else
#define HANDLE(kind) integer
#define STATUS(places) integer, dimension(MPI_STATUS_SIZE) :: places
#endif
  integer, parameter :: n = 5000, many = 12, message = 11, ways = 9
  HANDLE(MPI_Comm) :: comm
  HANDLE(MPI_Request) :: requests(many), handles(many)
  integer :: rank, ranks, last, ierr, way, k, provided, used  ! of the requests
  double precision, allocatable :: x(:), blocks(:), given(:)
  double precision, allocatable :: cast(:), summed(:), at_root(:), block(:), equal(:), mine(:)
  double precision, allocatable :: all(:), gathered(:), turned(:)
  integer, allocatable :: counts(:)
  integer :: sent, got
  character(len=16) :: argument

  call get_command_argument(1, argument)
  if (argument == 'messages') then
    call MPI_Init_thread(MPI_THREAD_MULTIPLE, provided, ierr)
  else
    call MPI_Init(ierr)
  end if
  comm = MPI_COMM_WORLD
  call MPI_Comm_rank(comm, rank, ierr)
  call MPI_Comm_size(comm, ranks, ierr)
  last = ranks - 1
  allocate (x(n), cast(n), summed(n), at_root(n), block(n), equal(n), mine(n))
  allocate (all(n*ranks), gathered(n*ranks), turned(n*ranks), blocks(n*ranks), given(n*ranks))
  allocate (counts(ranks))
  counts = n

  used = many
  do way = 1, ways
    call fill()
    call start_each()
    call complete()
    call check_each()
    call check(none_left(), 'requests are null')
  end do
#ifdef PERSISTENT
  used = many - 1  ! no barrier: MPICH does not know in MPI_Waitany that its own persistent ones have ended
  call prepare_each()
  handles = requests
  do way = 1, ways
    call fill()
    call MPI_Startall(used - 1, requests, ierr)
    call check(ierr == MPI_SUCCESS, 'startall: ierror')
    call MPI_Start(requests(used), ierr)
    call complete()
    call check_each()
    do k = 1, used
      call check(requests(k) == handles(k), 'persistent requests stay')
    end do
  end do
  do k = 1, used
    call MPI_Request_free(requests(k), ierr)
  end do
  call check(none_left(), 'freed requests are null')
#endif
  call MPI_Barrier(comm, ierr)
  if (rank == 0) print '(a,i0)', 'ok ', ranks
  call MPI_Finalize(ierr)

contains

  ! What rank q has at place i.
  double precision function value(q, i)
    integer, intent(in) :: q, i
    value = dble(q + way + mod(i, 13))
  end function

  subroutine fill()
    integer :: i, q
    x = [(value(rank, i), i=1, n)]
    blocks = [((value(rank, i), i=1, n), q=1, ranks)]
    given = [((value(100*rank + q, i), i=1, n), q=0, last)]
    cast = -1
    if (rank == last) cast = x
    summed = -1; at_root = -1; block = -1; equal = -1; all = -1; gathered = -1; mine = -1; turned = -1
    sent = 10*rank + way
    got = -1
  end subroutine

#define DOUBLES MPI_DOUBLE_PRECISION
  subroutine start_each()
    call MPI_Isend(sent, 1, MPI_INTEGER, modulo(rank + 1, ranks), way, comm, requests(1), ierr)
    call MPI_Iallreduce(x, summed, n, DOUBLES, MPI_SUM, comm, requests(2), ierr)
    call MPI_Ireduce(x, at_root, n, DOUBLES, MPI_SUM, last, comm, requests(3), ierr)
    call MPI_Ibcast(cast, n, DOUBLES, last, comm, requests(4), ierr)
    call MPI_Ireduce_scatter(blocks, block, counts, DOUBLES, MPI_SUM, comm, requests(5), ierr)
    call MPI_Ireduce_scatter_block(blocks, equal, n, DOUBLES, MPI_SUM, comm, requests(6), ierr)
    call MPI_Iallgather(x, n, DOUBLES, all, n, DOUBLES, comm, requests(7), ierr)
    call MPI_Igather(x, n, DOUBLES, gathered, n, DOUBLES, last, comm, requests(8), ierr)
    call MPI_Iscatter(given, n, DOUBLES, mine, n, DOUBLES, last, comm, requests(9), ierr)
    call MPI_Ialltoall(given, n, DOUBLES, turned, n, DOUBLES, comm, requests(10), ierr)
    call MPI_Irecv(got, 1, MPI_INTEGER, modulo(rank - 1, ranks), way, comm, requests(11), ierr)
    call MPI_Ibarrier(comm, requests(12), ierr)
    call check(ierr == MPI_SUCCESS, 'ibarrier: ierror')
  end subroutine

#ifdef PERSISTENT
  subroutine prepare_each()
#define NO_INFO MPI_INFO_NULL
    call MPI_Send_init(sent, 1, MPI_INTEGER, modulo(rank + 1, ranks), 0, comm, requests(1), ierr)
    call MPI_Allreduce_init(x, summed, n, DOUBLES, MPI_SUM, comm, NO_INFO, requests(2), ierr)
    call MPI_Reduce_init(x, at_root, n, DOUBLES, MPI_SUM, last, comm, NO_INFO, requests(3), ierr)
    call MPI_Bcast_init(cast, n, DOUBLES, last, comm, NO_INFO, requests(4), ierr)
    call MPI_Reduce_scatter_init(blocks, block, counts, DOUBLES, MPI_SUM, comm, NO_INFO, requests(5), ierr)
    call MPI_Reduce_scatter_block_init(blocks, equal, n, DOUBLES, MPI_SUM, comm, NO_INFO, requests(6), ierr)
    call MPI_Allgather_init(x, n, DOUBLES, all, n, DOUBLES, comm, NO_INFO, requests(7), ierr)
    call MPI_Gather_init(x, n, DOUBLES, gathered, n, DOUBLES, last, &
      comm, NO_INFO, requests(8), ierr)
    call MPI_Scatter_init(given, n, DOUBLES, mine, n, DOUBLES, last, &
      comm, NO_INFO, requests(9), ierr)
    call MPI_Alltoall_init(given, n, DOUBLES, turned, n, DOUBLES, &
      comm, NO_INFO, requests(10), ierr)
    call MPI_Recv_init(got, 1, MPI_INTEGER, modulo(rank - 1, ranks), 0, comm, requests(11), ierr)
    call check(ierr == MPI_SUCCESS, 'recv_init: ierror')
  end subroutine
#endif

  subroutine complete()
    integer :: i, at, some, left, indices(many)
    logical :: done
    STATUS(one)
#ifdef F08
    type(MPI_Status) :: statuses(many)
#else
    integer :: statuses(MPI_STATUS_SIZE, many)
#endif
    ierr = -1
    done = .false.
    left = used
    select case (way)
    case (1)
      do i = used, 1, -1
        call MPI_Wait(requests(i), one, ierr)
      end do
    case (2)
      call MPI_Waitall(used, requests, statuses, ierr)
#ifdef F08
      call check(statuses(message)%MPI_SOURCE == modulo(rank - 1, ranks), 'the status of a message')
#else
      call check(statuses(MPI_SOURCE, message) == modulo(rank - 1, ranks), 'the status of a message')
#endif
    case (3)
      do i = 1, used
        call MPI_Waitany(used, requests, at, one, ierr)
        call check(at >= 0 .and. at <= used, 'waitany: index')  ! from 0 on by MPICH 4.0's mpi_f08
      end do
      call MPI_Waitany(used, requests, at, MPI_STATUS_IGNORE, ierr)
      call check(at == MPI_UNDEFINED .or. at == MPI_UNDEFINED + 1, 'waitany of none')  ! the latter by MPICH 4.0
    case (4)
      do while (left > 0)
        call MPI_Waitsome(used, requests, some, indices, statuses, ierr)
        call check(some >= 1 .and. all_within(indices(1:some)), 'waitsome: indices')
        left = left - some
      end do
    case (5)
      do i = 1, used
        done = .false.
        do while (.not. done)
          call MPI_Test(requests(i), done, MPI_STATUS_IGNORE, ierr)
        end do
      end do
    case (6)
      do while (.not. done)
        call MPI_Testall(used, requests, done, statuses, ierr)
      end do
    case (7)
      do while (left > 0)
        call MPI_Testany(used, requests, at, done, one, ierr)
        if (done) call check(at >= 0 .and. at <= used, 'testany: index')
        if (done) left = left - 1
      end do
    case (8)
      do while (left > 0)
        call MPI_Testsome(used, requests, some, indices, MPI_STATUSES_IGNORE, ierr)
        call check(some >= 0 .and. all_within(indices(1:some)), 'testsome: indices')
        left = left - some
      end do
    case (9)
      do i = 1, used
        done = .false.
        do while (.not. done)
          call MPI_Request_get_status(requests(i), done, one, ierr)
        end do
        call MPI_Wait(requests(i), MPI_STATUS_IGNORE, ierr)
      end do
    end select
    call check(ierr == MPI_SUCCESS, 'completion: ierror')
  end subroutine

  subroutine check_each()
    integer :: i, q
    double precision :: added(n)
    added = 0
    do q = 0, last
      added = added + [(value(q, i), i=1, n)]
    end do
    call check(maxval(abs(summed - added)) == 0, 'iallreduce')
    call check(maxval(abs(block - added)) == 0, 'ireduce_scatter')
    call check(maxval(abs(equal - added)) == 0, 'ireduce_scatter_block')
    call check(maxval(abs(cast - [(value(last, i), i=1, n)])) == 0, 'ibcast')
    call check(maxval(abs(mine - [(value(100*last + rank, i), i=1, n)])) == 0, 'iscatter')
    call check(maxval(abs(all - [((value(q, i), i=1, n), q=0, last)])) == 0, 'iallgather')
    call check(maxval(abs(turned - [((value(100*q + rank, i), i=1, n), q=0, last)])) == 0, 'ialltoall')
    if (rank == last) call check(maxval(abs(at_root - added)) == 0, 'ireduce')
    if (rank == last) call check(maxval(abs(gathered - all)) == 0, 'igather')
    call check(got == 10*modulo(rank - 1, ranks) + way, 'irecv')
  end subroutine

  logical function none_left()
    integer :: i
    none_left = .true.
    do i = 1, used
      none_left = none_left .and. requests(i) == MPI_REQUEST_NULL
    end do
  end function

  logical function all_within(indices)
    integer, intent(in) :: indices(:)
    all_within = count(indices >= 0 .and. indices <= used) == size(indices)
  end function

  subroutine check(right, what)
    logical, intent(in) :: right
    character(*), intent(in) :: what
    if (right) return
    print '(a,i0,a,i0,2a)', 'rank ', rank, ', way ', way, ': wrong ', what
    call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
  end subroutine

end program
